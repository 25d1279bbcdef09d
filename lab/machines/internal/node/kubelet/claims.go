package kubelet

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
)

// prepareClaims adds the cards of a pod's claims to what its containers get. Claims come with the scheduler's allocation, and reserved for
// the pod (kubernetes pkg/kubelet/cm/dra/manager.go, PrepareResources).
func (p *pod) prepareClaims(ctx context.Context) error {
	cards := map[string][]string{}
	for _, status := range p.Pod.Status.ResourceClaimStatuses {
		if status.ResourceClaimName == nil {
			continue
		}
		claim, err := p.session.client.ResourceV1().ResourceClaims(p.Namespace).Get(ctx, *status.ResourceClaimName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if claim.Status.Allocation == nil {
			return fmt.Errorf("resource claim %s is not allocated", claim.Name)
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			for _, card := range gpu.Cards(p.session.machine) {
				if result.Driver == programs.DRADriver && result.Device == fmt.Sprintf("gpu-%d", card.Index) {
					cards[status.Name] = append(cards[status.Name], card.UUID)
				}
			}
			if len(cards[status.Name]) == 0 {
				return fmt.Errorf("DRA driver %s: device %s is not known", result.Driver, result.Device)
			}
		}
	}
	for _, container := range append(append([]corev1.Container{}, p.Spec.InitContainers...), p.Spec.Containers...) {
		for _, asked := range container.Resources.Claims {
			own := p.allocations[container.Name]
			p.allocations[container.Name] = devices.Allocation{Devices: append(own.Devices, cards[asked.Name]...), ByCDI: true}
		}
	}
	if len(cards) > 0 {
		p.session.machine.Event("pod %s/%s has claimed %s", p.Namespace, p.Name, strings.Join(cards[p.Pod.Status.ResourceClaimStatuses[0].Name], ", "))
	}
	return nil
}
