package kubelet

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
)

// prepareClaims gives a pod's containers the cards of the pod's claims. The scheduler has already allocated the claims
// and reserved them for the pod (kubernetes pkg/kubelet/cm/dra/manager.go, PrepareResources).
//
// A container can also request an extended resource that stands for a class of devices. For it the scheduler itself has
// made a claim.
func (p *pod) prepareClaims(ctx context.Context) error {
	give := func(container string, cards []string) {
		p.allocations[container] = devices.Allocation{Devices: append(p.allocations[container].Devices, cards...), ByCDI: true}
	}
	for _, said := range p.Spec.ResourceClaims {
		name := said.ResourceClaimName
		for _, made := range p.Pod.Status.ResourceClaimStatuses {
			if made.Name == said.Name { // the claim was made from a template
				name = made.ResourceClaimName
			}
		}
		if name == nil {
			continue
		}
		byRequest, err := p.claimed(ctx, *name)
		if err != nil {
			return err
		}
		cards := slices.Concat(slices.Collect(maps.Values(byRequest))...)
		for _, container := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			if slices.ContainsFunc(container.Resources.Claims, func(asked corev1.ResourceClaim) bool { return asked.Name == said.Name }) {
				give(container.Name, cards)
			}
		}
	}
	if extended := p.Pod.Status.ExtendedResourceClaimStatus; extended != nil {
		byRequest, err := p.claimed(ctx, extended.ResourceClaimName)
		if err != nil {
			return err
		}
		for _, mapping := range extended.RequestMappings {
			give(mapping.ContainerName, byRequest[mapping.RequestName])
		}
	}
	return nil
}

// claimed returns the UUIDs of a claim's cards, by request.
func (p *pod) claimed(ctx context.Context, name string) (map[string][]string, error) {
	claim, err := p.session.client.ResourceV1().ResourceClaims(p.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if claim.Status.Allocation == nil {
		return nil, fmt.Errorf("resource claim %s is not allocated", claim.Name)
	}
	all, chosen := gpu.Cards(p.session.machine), map[string][]string{}
	for _, result := range claim.Status.Allocation.Devices.Results {
		at := slices.IndexFunc(all, func(card gpu.Card) bool { return result.Device == fmt.Sprintf("gpu-%d", card.Index) })
		if at < 0 || result.Driver != programs.DRADriver {
			return nil, fmt.Errorf("DRA driver %s: device %s is not known", result.Driver, result.Device)
		}
		chosen[result.Request] = append(chosen[result.Request], all[at].UUID)
	}
	return chosen, nil
}
