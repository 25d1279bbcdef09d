package images

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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
	// RegistryConfig is the folder where containerd finds the registries (containerd docs/hosts.md). Talos uses the
	// same folder.
	RegistryConfig  = "/etc/cri/conf.d/hosts"
	registryAddress = "127.0.0.1:5000"
)

// registry replaces every registry. It makes images when they are requested (OCI distribution-spec v1.1, "Pull").
type registry struct {
	spec   *boot.Spec
	folder string
	images []image
	// standsFor returns an image by its whole reference, if no image of the list matches.
	standsFor  func(reference string) (image, bool)
	compressed bool // compresses layers for a slow network
	mutex      sync.Mutex
	blobs      map[string]string // file by digest
	layers     map[string]layer  // by file
}

type layer struct {
	digest, difference string
	size               int64
}

func newRegistry(folder string, images []image, standsFor func(reference string) (image, bool)) *registry {
	return &registry{
		folder:    folder,
		images:    images,
		standsFor: standsFor,
		blobs:     map[string]string{},
		layers:    map[string]layer{},
	}
}

// Serve starts the registry in the node's network.
func Serve(spec *boot.Spec) error {
	r := newRegistry(filepath.Join(spec.Folder, "images"), imagesOf(spec), standsFor)
	r.spec = spec
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
	path, digest, kind, err := r.find(request.URL.Query().Get("ns"), parts[1], parts[2], parts[3])
	if err != nil {
		fmt.Fprintf(os.Stderr, "the image %s: %v\n", parts[1], err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
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

// find returns the file of a blob or of a manifest, or "". It makes the manifest if needed.
func (r *registry) find(host, repository, what, reference string) (path, digest, kind string, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	digest, kind = reference, "application/octet-stream"
	if what == "manifests" {
		kind = "application/vnd.oci.image.manifest.v1+json"
		if r.blobs[digest] == "" {
			digest, err = r.manifest(host, repository, reference)
		}
	}
	return r.blobs[digest], digest, kind, err
}

// manifest makes the image for a repository and returns its manifest's digest, or "" if there is no image.
func (r *registry) manifest(host, repository, tag string) (string, error) {
	image, known := r.imageOf(host, repository, tag)
	if !known {
		return "", nil
	}
	layer, difference, size, err := r.layer(image)
	if err != nil {
		return "", err
	}
	form := "application/vnd.oci.image.layer.v1.tar"
	if r.compressed {
		form += "+gzip"
	}
	config, configSize, err := r.document(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		// Images of different references must differ: containerd names an image by the first of its references, and the
		// status of a container would then show another release.
		"config": map[string]any{"Labels": map[string]string{"org.opencontainers.image.ref.name": repository + ":" + tag}, "Env": append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, image.env...), "User": image.user, "Entrypoint": image.entrypoint, "Cmd": image.command},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{difference}},
	})
	if err != nil {
		return "", err
	}
	digest, _, err := r.document(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": map[string]any{"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config, "size": configSize},
		"layers": []map[string]any{{"mediaType": form, "digest": layer, "size": size}},
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

// layer makes an image's files once, also for later boots. It returns the file's digest, the digest of its content, and
// its size.
func (r *registry) layer(image image) (digest, difference string, size int64, err error) {
	path := filepath.Join(r.folder, image.key+".tar")
	if made, known := r.layers[path]; known {
		return made.digest, made.difference, made.size, nil
	}
	if !files.Exists(path) {
		if err := r.write(image, path); err != nil {
			return "", "", 0, err
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return "", "", 0, err
	}
	defer file.Close()
	outer, inner := sha256.New(), sha256.New()
	whole := io.TeeReader(file, outer)
	content := whole
	if r.compressed {
		if content, err = gzip.NewReader(whole); err != nil {
			return "", "", 0, err
		}
	}
	if _, err = io.Copy(inner, content); err != nil {
		return "", "", 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return "", "", 0, err
	}
	made := layer{"sha256:" + hex.EncodeToString(outer.Sum(nil)), "sha256:" + hex.EncodeToString(inner.Sum(nil)), info.Size()}
	r.blobs[made.digest], r.layers[path] = path, made
	return made.digest, made.difference, made.size, nil
}

func (r *registry) write(image image, path string) error {
	file, err := os.Create(path + ".unfinished")
	if err != nil {
		return err
	}
	defer file.Close()
	to := io.WriteCloser(file)
	if r.compressed {
		if to, err = gzip.NewWriterLevel(file, gzip.BestSpeed); err != nil {
			return err
		}
	}
	if err := errors.Join(image.layer(r.spec, to), to.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// document stores a JSON document as a blob.
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
