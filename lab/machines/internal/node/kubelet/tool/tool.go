// Package tool is the other end of the commands that the lab puts into a container's PATH: it hands a call over to the
// program that runs the machines, and passes on output and exit code.
package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// ExitTrailer carries the exit code behind the output.
const ExitTrailer = "Lab-Exit-Code"

// Call is a program's call.
type Call struct {
	Argv []string          `json:"argv"`
	Env  map[string]string `json:"env"`
}

// Run is the subcommand `program ADDRESS NAME ARGS…`. It reports whether the arguments are such a call, and the exit code.
func Run(args []string) (handled bool, code int) {
	if len(args) < 3 || args[0] != "program" {
		return false, 0
	}
	env := map[string]string{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	body, err := json.Marshal(Call{Argv: args[2:], Env: env})
	if err == nil {
		code, err = call(args[1], body)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: the lab does not answer: %v\n", args[2], err)
		return true, 126
	}
	return true, code
}

func call(address string, body []byte) (int, error) {
	response, err := http.Post(address, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		return 0, err
	}
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s", response.Status)
	}
	return strconv.Atoi(response.Trailer.Get(ExitTrailer))
}
