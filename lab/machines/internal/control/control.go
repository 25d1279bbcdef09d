// Package control is the lab's own view of the machines, over HTTP on the loopback interface.
package control

import (
	"encoding/json"
	"net/http"

	"talos-gpu/lab/machines/internal/talos/machine"
)

// Handler serves GET /state, POST /machines/NAME/fault and POST /reset-requests.
func Handler(machines []*machine.Machine) http.Handler {
	mux := http.NewServeMux()

	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		reports := map[string]machine.Report{}
		for _, m := range machines {
			reports[m.Key()] = m.Report()
		}

		answer(w, http.StatusOK, map[string]any{"machines": reports})
	})

	mux.HandleFunc("POST /machines/{name}/fault", func(w http.ResponseWriter, r *http.Request) {
		fault := struct {
			Kind  string `json:"kind"`
			Times int    `json:"times"`
		}{Times: 1}

		if err := json.NewDecoder(r.Body).Decode(&fault); err != nil {
			answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})

			return
		}

		for _, m := range machines {
			if m.Key() != r.PathValue("name") {
				continue
			}

			if err := m.Fault(fault.Kind, fault.Times); err != nil {
				answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})

				return
			}

			answer(w, http.StatusOK, map[string]string{})

			return
		}

		answer(w, http.StatusNotFound, map[string]string{"error": "there is no machine " + r.PathValue("name")})
	})

	mux.HandleFunc("POST /reset-requests", func(w http.ResponseWriter, _ *http.Request) {
		for _, m := range machines {
			m.ResetRequests()
		}

		answer(w, http.StatusOK, map[string]string{})
	})

	return mux
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) //nolint:errcheck // the caller has gone
}
