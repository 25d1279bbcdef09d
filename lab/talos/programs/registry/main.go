// registry is an OCI registry on loopback. It says `{"port": N}` when it listens, takes one image a line of its standard input, as
// JSON, answers each with a line, and ends with its input. Under /silent/ it takes connections and never answers.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// An image: a tarball as Docker saves it, else layers.
type wanted struct {
	// Name and tag in this registry.
	Ref     string
	Tarball string
	// Tar files, from the lowest.
	Layers     []string
	Entrypoint []string
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	handler := registry.New(
		registry.WithBlobHandler(registry.NewDiskBlobHandler(os.Args[1])),
		registry.Logger(log.New(io.Discard, "", 0)),
	)
	go func() {
		log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			log.Println(r.Method, r.URL.Path)
			if strings.Contains(r.URL.Path, "/silent/") {
				<-r.Context().Done()
				return
			}
			// A download that goes on after a break asks for `bytes=N-`, which this registry calls wrong for ever; of one that knows
			// no ranges containerd takes the whole, and skips what it has.
			r.Header.Del("Range")
			handler.ServeHTTP(w, r)
		})))
	}()
	fmt.Printf("{\"port\": %d}\n", listener.Addr().(*net.TCPAddr).Port)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer := map[string]string{}
		if err := push(listener.Addr().String(), lines.Bytes()); err != nil {
			answer["error"] = err.Error()
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		fmt.Println(string(text))
	}
	return lines.Err()
}

func push(address string, line []byte) error {
	var asked wanted
	if err := json.Unmarshal(line, &asked); err != nil {
		return err
	}
	ref, err := name.ParseReference(address+"/"+asked.Ref, name.Insecure)
	if err != nil {
		return err
	}
	image, err := build(asked)
	if err != nil {
		return fmt.Errorf("%s: %w", asked.Ref, err)
	}
	return remote.Write(ref, image)
}

func build(asked wanted) (v1.Image, error) {
	if asked.Tarball != "" {
		return tarball.ImageFromPath(asked.Tarball, nil)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, file := range asked.Layers {
		// Compressed: the imager reads a plain layer as if it were, and tries for minutes.
		layer, err := tarball.LayerFromFile(file, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(1))
		if err != nil {
			return nil, err
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config.Entrypoint = "linux", "amd64", asked.Entrypoint
	config.Config.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	return mutate.ConfigFile(image, config)
}
