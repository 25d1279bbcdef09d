// Package control is the lab's own view of the machines, over HTTP on the loopback interface.
package control

import (
	"encoding/json"
	"net/http"

	"talos-gpu/lab/machines/internal/talos/machine"
)

// Handler serves GET /state and POST /machines/NAME/fault.
func Handler(machines []*machine.Machine) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		reports := map[string]machine.Report{}
		for _, m := range machines {
			reports[m.Key()] = m.Report()
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"machines": reports}) //nolint:errcheck // the caller has gone
	})
	mux.HandleFunc("POST /machines/{name}/fault", func(w http.ResponseWriter, r *http.Request) {
		fault := struct {
			Kind  string `json:"kind"`
			Times int    `json:"times"`
		}{Times: 1}
		err := json.NewDecoder(r.Body).Decode(&fault)
		for _, m := range machines {
			if err == nil && m.Key() == r.PathValue("name") {
				err = m.Fault(fault.Kind, fault.Times)
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	return mux
}
