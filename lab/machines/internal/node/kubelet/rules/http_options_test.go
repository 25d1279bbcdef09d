package rules

import "testing"

func TestParseCurl(t *testing.T) {
	call, err := parseCurl([]string{"-fsS", "--retry", "10", "--retry-connrefused", "--retry-delay", "3", "-H", "Content-Type: application/json", "-d", "{}", "http://ollama.ollama.svc:11434/api/pull"})
	if err != nil || !call.fail || !call.silent || !call.showError || call.retries != 10 || !call.retryRefused || call.method != "POST" || call.headers.Get("Content-Type") != "application/json" {
		t.Errorf("%+v, %v", call, err)
	}
	if _, err := parseCurl([]string{"--upload-file", "x", "http://a"}); err == nil {
		t.Error("an option that is not emulated must be an error")
	}
	get, err := parseWget([]string{"-qO-", "http://a:80/b"})
	if err != nil || get.output != "" || get.url != "http://a:80/b" {
		t.Errorf("%+v, %v", get, err)
	}
}
