package rules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/network"
)

// CommonPrograms replace what any image may call and what must go through the cluster's network; nil where that is a real one.
func CommonPrograms(pods *network.Network) map[string]cri.Program {
	client := httpClient{pods}
	return programs{"curl": client.curl, "wget": client.wget}
}

// httpClient is curl and BusyBox's wget as far as scripts in clusters use them. An option that it does not know is an error.
type httpClient struct{ pods *network.Network }

// httpCall is one parsed command line.
type httpCall struct {
	url, method, output, writeOut   string
	headers                         http.Header
	data                            []byte
	fail, silent, showError, header bool
	limit                           time.Duration
	retries                         int
	retryDelay                      time.Duration
	retryRefused                    bool
}

// Exit codes of curl (man curl).
const (
	curlOption  = 2
	curlResolve = 6
	curlConnect = 7
	curlHTTP    = 22
	curlWrite   = 23
	curlTimeout = 28
)

func (h httpClient) curl(ctx context.Context, c *cri.Container) int {
	call, err := parseCurl(c.Argv[1:])
	if err != nil {
		c.Logf("curl: %v", err)
		return curlOption
	}
	code, message := h.perform(ctx, c, call)
	if message != "" && (!call.silent || call.showError) {
		c.Logf("curl: (%d) %s", code, message)
	}
	return code
}

func (h httpClient) wget(ctx context.Context, c *cri.Container) int {
	call, err := parseWget(c.Argv[1:])
	if err != nil {
		c.Logf("wget: %v", err)
		return 1
	}
	code, message := h.perform(ctx, c, call)
	if code != 0 {
		c.Logf("wget: %s", message)
		return 1
	}
	return 0
}

// perform calls, again as often as the options want; pauses are in lab time.
func (h httpClient) perform(ctx context.Context, c *cri.Container, call httpCall) (code int, message string) {
	if call.limit > 0 {
		// Bounded in this computer's time too: what answers is really there.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(5*time.Second, c.Machine.Clock().Real(call.limit)))
		defer cancel()
	}
	for attempt := 0; ; attempt++ {
		code, message = h.once(ctx, c, call)
		again := code == curlTimeout || code == curlConnect && call.retryRefused
		if !again || attempt >= call.retries || c.Machine.Clock().Sleep(ctx, max(call.retryDelay, time.Second)) != nil {
			return code, message
		}
	}
}

func (h httpClient) once(ctx context.Context, c *cri.Container, call httpCall) (int, string) {
	target, err := url.Parse(call.url)
	if err != nil || target.Host == "" {
		return 3, "URL rejected: " + call.url
	}
	address, err := h.address(c, target)
	if refused := (network.Refused{}); errors.As(err, &refused) {
		return curlConnect, refused.Error() + " after 0 ms: Could not connect to server"
	} else if err != nil {
		return curlResolve, err.Error()
	}
	request, err := http.NewRequestWithContext(ctx, call.method, call.url, bytes.NewReader(call.data))
	if err != nil {
		return 3, err.Error()
	}
	request.Header = call.headers
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	switch {
	case ctx.Err() != nil:
		return curlTimeout, "Operation timed out"
	case err != nil:
		return curlConnect, err.Error()
	}
	defer response.Body.Close()
	return deliver(c, call, response)
}

// deliver writes the answer where the options say.
func deliver(c *cri.Container, call httpCall, response *http.Response) (int, string) {
	if call.fail && response.StatusCode >= http.StatusBadRequest {
		return curlHTTP, "The requested URL returned error: " + strconv.Itoa(response.StatusCode)
	}
	out := c.Output
	if call.output != "" {
		name := call.output
		if strings.HasPrefix(name, "/") && !strings.HasPrefix(name, c.Machine.RootFS()) {
			name = c.Paths.Resolve(name)
		}
		file, err := os.Create(name)
		if err != nil {
			return curlWrite, err.Error()
		}
		defer file.Close()
		out = file
	}
	if call.header {
		fmt.Fprintf(out, "HTTP/1.1 %s\r\n", response.Status)
		_ = response.Header.Write(out)
		fmt.Fprint(out, "\r\n")
	}
	if call.method != http.MethodHead {
		if _, err := io.Copy(out, response.Body); err != nil {
			return curlTimeout, err.Error()
		}
	}
	if call.writeOut != "" {
		text := strings.NewReplacer("%{http_code}", strconv.Itoa(response.StatusCode), "%{response_code}", strconv.Itoa(response.StatusCode), `\n`, "\n").Replace(call.writeOut)
		fmt.Fprint(c.Output, text)
	}
	return 0, ""
}

// address behind the URL. Names outside the cluster are not reached: the lab's pods have no way out.
func (h httpClient) address(c *cri.Container, target *url.URL) (string, error) {
	port := 80
	if target.Scheme == "https" {
		port = 443
	}
	if text := target.Port(); text != "" {
		port, _ = strconv.Atoi(text)
	}
	if h.pods == nil { // the pod's network is a real one
		return net.JoinHostPort(target.Hostname(), strconv.Itoa(port)), nil
	}
	return h.pods.Resolve(c.Pod.Namespace, c.PodIP, target.Hostname(), port)
}
