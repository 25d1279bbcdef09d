// Package sets runs LeaderWorkerSet's real program instead of its container on an emulated node. It starts the program
// as the chart does: with the rights of the service account, the chart's configuration, and the certificate that the
// program makes. The program listens on a port of this computer, and package reach connects the API server to it.
package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"talos-gpu/lab/machines/internal/node/identity"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/node/reach"
)

// Controller has the built program and the cluster in which it works.
type Controller struct {
	Binary, Server string
	CA             []byte
	Reach          *reach.Table
}

// Names that the chart fixes (kubernetes-sigs/lws v0.9.0 charts/lws/templates: manager/deployment.yaml,
// webhook/service.yaml, webhook/secret.yaml).
const (
	configuration = "/controller_manager_config.yaml"
	service       = "lws-webhook-service"
	secret        = "lws-webhook-server-cert"
)

// look is the interval between checks of the Secret's files and of the port. The kubelet's interval of a minute would
// delay every start.
const look = 200 * time.Millisecond

// Programs returns the programs of the image.
func (c Controller) Programs() programs.Programs { return programs.Programs{"manager": c.manage} }

func (c Controller) manage(ctx context.Context, container *programs.Container) int {
	if container.Client == nil {
		return container.Fails("lab: LeaderWorkerSet's program runs on emulated nodes alone")
	}
	if c.Binary == "" {
		return container.Fails("lab: LeaderWorkerSet's program was not built: no server of the stack is over several machines")
	}
	dir, err := os.MkdirTemp(container.Root, "lws-")
	if err != nil {
		return container.Fails("%v", err)
	}
	defer os.RemoveAll(dir)
	port, err := freePort()
	if err == nil {
		err = errors.Join(c.configure(dir, port, container), c.authenticate(ctx, dir, container))
	}
	if err != nil {
		return container.Fails("%v", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go c.serve(ctx, dir, port, container)
	command := exec.CommandContext(ctx, c.Binary, "--config="+filepath.Join(dir, "config.yaml"), "--zap-log-level=2")
	command.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(dir, "kubeconfig"))
	command.Stdout, command.Stderr = container.Output, container.Output
	err = command.Run()
	if container.Logf("lab: the program ended: %v", err); err == nil {
		return 0
	}
	return cmp.Or(max(command.ProcessState.ExitCode(), 0), 1)
}

// configure writes the chart's configuration with ports of this computer. It disables leader election, because there is
// only one instance.
func (c Controller) configure(dir string, port int, container *programs.Container) error {
	text, err := container.Read(configuration)
	if err != nil {
		return err
	}
	said := map[string]any{}
	if err := yaml.Unmarshal(text, &said); err != nil {
		return err
	}
	said["leaderElection"] = map[string]any{"leaderElect": false}
	said["webhook"] = map[string]any{"host": "127.0.0.1", "port": port, "certDir": dir}
	said["metrics"], said["health"] = map[string]any{"bindAddress": "0"}, map[string]any{"healthProbeBindAddress": "0"}
	text, err = yaml.Marshal(said)
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "config.yaml"), text, 0o600))
}

// authenticate writes a kubeconfig with a token of the pod's service account. The kubelet has the right to request this
// token.
func (c Controller) authenticate(ctx context.Context, dir string, container *programs.Container) error {
	pod, seconds := container.Pod, int64(24*60*60)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1",
			Kind:       "Pod",
			Name:       pod.Name,
			UID:        pod.UID,
		},
	}}
	token, err := container.Client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	text, err := identity.Kubeconfig("lab", "lab", &rest.Config{
		Host:            c.Server,
		BearerToken:     token.Status.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.CA},
	})
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "kubeconfig"), text, 0o600))
}

// serve keeps the files of the Secret, which the program fills, up to date. When the program's port answers, serve
// routes the API server to this port.
func (c Controller) serve(ctx context.Context, dir string, port int, container *programs.Container) {
	place := net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
	client := container.Client.CoreV1()
	for address := ""; ctx.Err() == nil; time.Sleep(look) {
		mounted, err := client.Secrets(container.Pod.Namespace).Get(ctx, secret, metav1.GetOptions{})
		if err != nil {
			continue
		}
		for name, content := range mounted.Data {
			file := filepath.Join(dir, name)
			if there, _ := os.ReadFile(file); string(there) != string(content) { //nolint:errcheck // the file may not exist yet
				_ = os.WriteFile(file, content, 0o600)
			}
		}
		if address != "" {
			continue
		}
		connection, err := net.Dial("tcp", place)
		if err != nil {
			continue
		}
		_ = connection.Close()
		found, err := client.Services(container.Pod.Namespace).Get(ctx, service, metav1.GetOptions{})
		if err == nil && !strings.EqualFold(found.Spec.ClusterIP, "None") {
			address = found.Spec.ClusterIP
			c.Reach.Put(address, place)
			context.AfterFunc(ctx, func() { c.Reach.Put(address, "") })
			container.Ready()
		}
	}
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
