// registry is an OCI registry on loopback. It says `{"port": N}` when it listens. It reads one image a line from its standard input, as
// JSON, answers each with a line, and ends with its input. What it has stays in its folder for the next one. Under /silent/ it takes
// connections and never answers.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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

// An image.
type wanted struct {
	// Name and tag in this registry.
	Ref string
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
	handler, err := keep(os.Args[1])
	if err != nil {
		return err
	}
	go func() {
		log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			log.Println(r.Method, r.URL.Path)
			if strings.Contains(r.URL.Path, "/silent/") {
				<-r.Context().Done()
				return
			}
			// The Image Factory keeps what becomes an image besides, and goes on where it cannot: the image is kept.
			if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/cache/") {
				http.Error(w, "not kept", http.StatusForbidden)
				return
			}
			// A download that goes on after a break asks for `bytes=N-`, which this registry always calls wrong; of one that knows
			// no ranges containerd takes the whole, and skips what it has.
			r.Header.Del("Range")
			handler.ServeHTTP(w, r)
		})))
	}()
	fmt.Printf("{\"port\": %d}\n", listener.Addr().(*net.TCPAddr).Port)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer := map[string]string{}
		if digest, err := push(listener.Addr().String(), lines.Bytes()); err != nil {
			answer["error"] = err.Error()
		} else {
			answer["digest"] = digest
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		fmt.Println(string(text))
	}
	return lines.Err()
}

// A manifest as it was pushed.
type manifest struct {
	Path, Type string
	Body       []byte
}

// keep makes a registry of a folder. The library keeps blobs in files, and manifests in memory alone: they are a file's lines here.
func keep(folder string) (http.Handler, error) {
	handler := registry.New(
		registry.WithBlobHandler(registry.NewDiskBlobHandler(folder)),
		registry.Logger(log.New(io.Discard, "", 0)),
	)
	file, err := os.OpenFile(filepath.Join(folder, "manifests"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break // the end, which may be half a line of a registry that was killed
		}
		var kept manifest
		if json.Unmarshal(line, &kept) != nil {
			continue
		}
		put := httptest.NewRequest(http.MethodPut, kept.Path, bytes.NewReader(kept.Body))
		put.Header.Set("Content-Type", kept.Type)
		handler.ServeHTTP(httptest.NewRecorder(), put)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if line, err := json.Marshal(manifest{r.URL.Path, r.Header.Get("Content-Type"), body}); err == nil {
				if _, err := file.Write(append(append([]byte("\n"), line...), '\n')); err != nil {
					log.Println(err)
				}
			}
		}
		handler.ServeHTTP(w, r)
	}), nil
}

func push(address string, line []byte) (string, error) {
	var asked wanted
	if err := json.Unmarshal(line, &asked); err != nil {
		return "", err
	}
	ref, err := name.ParseReference(address+"/"+asked.Ref, name.Insecure)
	if err != nil {
		return "", err
	}
	image, err := build(asked)
	if err != nil {
		return "", fmt.Errorf("%s: %w", asked.Ref, err)
	}
	// As projects publish them, by architecture: of an image alone the Image Factory does not know for which it is.
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add:        image,
		Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}},
	})
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	return digest.String(), remote.WriteIndex(ref, index)
}

func build(asked wanted) (v1.Image, error) {
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
