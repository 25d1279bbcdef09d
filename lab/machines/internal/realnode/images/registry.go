//go:build linux

package images

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"

	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/files"
)

const (
	// RegistryConfig is where containerd looks up where images come from (containerd docs/hosts.md); Talos has it there, too.
	RegistryConfig  = "/etc/cri/conf.d/hosts"
	registryAddress = "127.0.0.1:5000"
)

// registry stands for every registry: it makes images when they are asked for (OCI distribution-spec v1.1, "Pull").
type registry struct {
	folder string
	images []image
	// standsFor gives an image by its whole reference, where none of the list has the name.
	standsFor func(reference string) (image, bool)
	mutex     sync.Mutex
	blobs     map[string]string // file by digest
}

// Serve starts the registry, in the node's own network.
func Serve(spec *boot.Spec) error {
	r := &registry{folder: filepath.Join(spec.Folder, "images"), images: node{spec}.images(), standsFor: standsFor, blobs: map[string]string{}}
	listener, err := net.Listen("tcp", registryAddress)
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(listener, r) }()
	return files.Write(RegistryConfig+"/_default/hosts.toml", fmt.Sprintf("server = \"http://%s\"\n[host.\"http://%s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", registryAddress, registryAddress))
}

var distributionPath = regexp.MustCompile(`^/v2/(.+)/(manifests|blobs)/([^/]+)$`)

func (r *registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	parts := distributionPath.FindStringSubmatch(request.URL.Path)
	if parts == nil {
		w.WriteHeader(http.StatusOK) // GET /v2/
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	digest, kind := parts[3], "application/octet-stream"
	if parts[2] == "manifests" {
		kind = "application/vnd.oci.image.manifest.v1+json"
		if r.blobs[digest] == "" {
			made, err := r.manifest(request.URL.Query().Get("ns"), parts[1], parts[3])
			if err != nil {
				fmt.Fprintf(os.Stderr, "the image %s: %v\n", parts[1], err)
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			digest = made
		}
	}
	path := r.blobs[digest]
	if path == "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"the lab's real node has no image that stands for %s"}]}`, parts[1])
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Docker-Content-Digest", digest)
	http.ServeFile(w, request, path)
}

// manifest makes the image that stands for a repository, and gives its manifest's digest; "" when none does.
func (r *registry) manifest(host, repository, tag string) (string, error) {
	image, known := r.imageOf(host, repository, tag)
	if !known {
		return "", nil
	}
	layer, size, err := r.layer(image)
	if err != nil {
		return "", err
	}
	config, configSize, err := r.document(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Env": append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, image.env...), "User": image.user, "Entrypoint": image.entrypoint, "Cmd": image.command},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layer}},
	})
	if err != nil {
		return "", err
	}
	digest, _, err := r.document(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": map[string]any{"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config, "size": configSize},
		"layers": []map[string]any{{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": layer, "size": size}},
	})
	return digest, err
}

func (r *registry) imageOf(host, repository, tag string) (image, bool) {
	for _, image := range r.images {
		if image.names.MatchString(repository + ":" + tag) {
			return image, true
		}
	}
	return r.standsFor(host + "/" + repository + ":" + tag)
}

// layer makes an image's files once, also for later boots.
func (r *registry) layer(image image) (digest string, size int64, err error) {
	path := filepath.Join(r.folder, image.key+".tar")
	if !files.Exists(path) {
		file, err := os.Create(path + ".unfinished")
		if err != nil {
			return "", 0, err
		}
		if err := image.layer(file); err != nil {
			file.Close()
			return "", 0, err
		}
		if err := file.Close(); err != nil {
			return "", 0, err
		}
		if err := os.Rename(file.Name(), path); err != nil {
			return "", 0, err
		}
	}
	for digest, made := range r.blobs {
		if made == path {
			info, err := os.Stat(path)
			return digest, info.Size(), err
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	sum := sha256.New()
	if size, err = io.Copy(sum, file); err != nil {
		return "", 0, err
	}
	digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	r.blobs[digest] = path
	return digest, size, nil
}

// document keeps a JSON document as a blob.
func (r *registry) document(content any) (digest string, size int, err error) {
	text, err := json.Marshal(content)
	if err != nil {
		return "", 0, err
	}
	sum := sha256.Sum256(text)
	name := hex.EncodeToString(sum[:])
	path := filepath.Join(r.folder, name+".json")
	r.blobs["sha256:"+name] = path
	return "sha256:" + name, len(text), os.WriteFile(path, text, 0o600)
}
