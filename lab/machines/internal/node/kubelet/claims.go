package kubelet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
)

// prepareClaims gives a pod's containers the cards of its claims. The scheduler has allocated the claims before, and reserved them for the
// pod (kubernetes pkg/kubelet/cm/dra/manager.go, PrepareResources). For a resource that stands for a class of devices (an extended resource)
// the scheduler has made a claim itself.
func (p *pod) prepareClaims(ctx context.Context) error {
	give := func(container string, cards []string) {
		own := p.allocations[container]
		p.allocations[container] = devices.Allocation{Devices: append(own.Devices, cards...), ByCDI: true}
	}
	cards := map[string][]string{}
	for _, status := range p.Pod.Status.ResourceClaimStatuses {
		if status.ResourceClaimName == nil {
			continue
		}
		byRequest, err := p.claimed(ctx, *status.ResourceClaimName)
		if err != nil {
			return err
		}
		cards[status.Name] = slices.Concat(slices.Collect(maps.Values(byRequest))...)
	}
	for _, container := range append(append([]corev1.Container{}, p.Spec.InitContainers...), p.Spec.Containers...) {
		for _, asked := range container.Resources.Claims {
			give(container.Name, cards[asked.Name])
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
	if len(cards) > 0 {
		p.session.machine.Event("pod %s/%s has claimed %s", p.Namespace, p.Name, strings.Join(cards[p.Pod.Status.ResourceClaimStatuses[0].Name], ", "))
	}
	return nil
}

// claimed returns the cards of a claim, by its requests.
func (p *pod) claimed(ctx context.Context, name string) (map[string][]string, error) {
	claim, err := p.session.client.ResourceV1().ResourceClaims(p.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if claim.Status.Allocation == nil {
		return nil, fmt.Errorf("resource claim %s is not allocated", claim.Name)
	}
	cards := map[string][]string{}
	for _, result := range claim.Status.Allocation.Devices.Results {
		before := len(cards[result.Request])
		for _, card := range gpu.Cards(p.session.machine) {
			if result.Driver == programs.DRADriver && result.Device == fmt.Sprintf("gpu-%d", card.Index) {
				cards[result.Request] = append(cards[result.Request], card.UUID)
			}
		}
		if len(cards[result.Request]) == before {
			return nil, fmt.Errorf("DRA driver %s: device %s is not known", result.Driver, result.Device)
		}
	}
	return cards, nil
}
