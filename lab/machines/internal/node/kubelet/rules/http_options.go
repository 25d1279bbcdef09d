package rules

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// parseCurl understands the options that matter in scripts; short flags may be joined (-fsS).
func parseCurl(args []string) (httpCall, error) {
	call := httpCall{headers: http.Header{}}
	for i := 0; i < len(args); i++ {
		name := args[i]
		if !strings.HasPrefix(name, "-") {
			call.url = withScheme(name)
			continue
		}
		if !strings.HasPrefix(name, "--") && len(name) > 2 && strings.Trim(name[1:], "fsSLkigvI") == "" {
			args = append(args[:i:i], append(split(name), args[i+1:]...)...)
			name = args[i]
		}
		take := func() (string, error) {
			if i++; i >= len(args) {
				return "", fmt.Errorf("option %s: requires parameter", name)
			}
			return args[i], nil
		}
		if err := curlOptionOf(&call, name, take); err != nil {
			return call, err
		}
	}
	if call.url == "" {
		return call, fmt.Errorf("(2) no URL specified")
	}
	if call.method == "" {
		call.method = http.MethodGet
		if call.data != nil {
			call.method = http.MethodPost
		}
	}
	if call.data != nil && call.headers.Get("Content-Type") == "" {
		call.headers.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return call, nil
}

func split(joined string) []string {
	var flags []string
	for _, letter := range joined[1:] {
		flags = append(flags, "-"+string(letter))
	}
	return flags
}

func withScheme(url string) string {
	if strings.Contains(url, "://") {
		return url
	}
	return "http://" + url
}

func curlOptionOf(call *httpCall, name string, take func() (string, error)) (err error) {
	var value string
	switch name {
	case "-f", "--fail", "--fail-with-body":
		call.fail = true
	case "-s", "--silent":
		call.silent = true
	case "-S", "--show-error":
		call.showError = true
	case "-i", "--include":
		call.header = true
	case "-I", "--head":
		call.header, call.method = true, http.MethodHead
	case "-L", "--location", "-k", "--insecure", "-v", "--verbose", "-g", "-N", "--no-buffer", "--compressed", "--http1.1", "--retry-all-errors":
	case "--retry-connrefused":
		call.retryRefused = true
	case "-X", "--request":
		call.method, err = take()
	case "-o", "--output":
		call.output, err = take()
	case "-w", "--write-out":
		call.writeOut, err = take()
	case "--url":
		call.url, err = take()
	case "-H", "--header":
		if value, err = take(); err == nil {
			key, content, _ := strings.Cut(value, ":")
			call.headers.Set(key, strings.TrimSpace(content))
		}
	case "-d", "--data", "--data-raw", "--data-binary", "--json":
		if value, err = take(); err == nil {
			call.data, err = body(value, name)
			if name == "--json" {
				call.headers.Set("Content-Type", "application/json")
			}
		}
	case "-m", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "--retry-max-time":
		if value, err = take(); err == nil {
			err = number(call, name, value)
		}
	default:
		return fmt.Errorf("option %s: not emulated by the lab", name)
	}
	return err
}

func number(call *httpCall, name, value string) error {
	amount, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return fmt.Errorf("option %s: expected a proper numerical parameter", name)
	}
	duration := time.Duration(amount * float64(time.Second))
	switch name {
	case "-m", "--max-time":
		call.limit = duration
	case "--retry":
		call.retries = int(amount)
	case "--retry-delay":
		call.retryDelay = duration
	}
	return nil
}

func body(value, option string) ([]byte, error) {
	if file, found := strings.CutPrefix(value, "@"); found && option != "--data-raw" {
		return os.ReadFile(file)
	}
	return []byte(value), nil
}

// parseWget understands BusyBox's wget.
func parseWget(args []string) (httpCall, error) {
	call := httpCall{headers: http.Header{}, method: http.MethodGet, fail: true, output: "-"}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		take := func() string {
			if !joined && i+1 < len(args) {
				i++
				return args[i]
			}
			return value
		}
		switch {
		case name == "-q" || name == "-S" || name == "--no-check-certificate" || name == "-c":
		case name == "--spider":
			call.method, call.output = http.MethodHead, "-"
		case name == "-O":
			call.output = take()
		case strings.HasPrefix(name, "-qO"), strings.HasPrefix(name, "-O"):
			_, call.output, _ = strings.Cut(name, "O")
			if call.output == "" {
				call.output = take()
			}
		case name == "-T" || name == "--timeout":
			if err := number(&call, "-m", take()); err != nil {
				return call, err
			}
		case name == "--header":
			key, content, _ := strings.Cut(take(), ":")
			call.headers.Set(key, strings.TrimSpace(content))
		case name == "--post-data":
			call.method, call.data = http.MethodPost, []byte(take())
		case strings.HasPrefix(name, "-"):
			return call, fmt.Errorf("option %s: not emulated by the lab", name)
		default:
			call.url = withScheme(args[i])
		}
	}
	if call.output == "-" {
		call.output = ""
	}
	if call.url == "" {
		return call, fmt.Errorf("missing URL")
	}
	return call, nil
}
