package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateLife is far longer than any lab and far shorter than anything worth stealing.
const certificateLife = 30 * 24 * time.Hour

// authority is a certificate authority with its files on disk.
type authority struct {
	folder      string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pair
}

// pair is a certificate and its key, as file paths.
type pair struct{ certPath, keyPath string }

// identity is what a certificate says about its holder.
type identity struct {
	commonName string
	// groups become the subject's organizations, which Kubernetes reads as groups.
	groups []string
	// names and addresses make it a serving certificate as well.
	names     []string
	addresses []net.IP
}

// newAuthority makes a self-signed authority and writes <name>.crt and <name>.key into folder.
func newAuthority(folder, name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of %s: %w", name, err)
	}
	template, err := certificateTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading back %s: %w", name, err)
	}
	files, err := writePair(folder, name, der, key)
	return &authority{folder: folder, certificate: certificate, key: key, pair: files}, err
}

// issue signs a certificate for the identity and writes <name>.crt and <name>.key beside the authority.
func (a *authority) issue(name string, id identity) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("making the key of %s: %w", name, err)
	}
	template, err := certificateTemplate(pkix.Name{CommonName: id.commonName, Organization: id.groups})
	if err != nil {
		return pair{}, err
	}
	template.DNSNames, template.IPAddresses = id.names, id.addresses
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(id.names)+len(id.addresses) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("signing %s: %w", name, err)
	}
	return writePair(a.folder, name, der, key)
}

// certificateTemplate has what every certificate has. It starts an hour back, for clocks that disagree a little.
func certificateTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("drawing a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(certificateLife),
	}, nil
}

// writePair writes a certificate and its key as PEM, the key for its owner only.
func writePair(folder, name string, certificate []byte, key *ecdsa.PrivateKey) (pair, error) {
	files := pair{certPath: filepath.Join(folder, name+".crt"), keyPath: filepath.Join(folder, name+".key")}
	if err := writePEM(files.certPath, "CERTIFICATE", certificate); err != nil {
		return pair{}, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return pair{}, fmt.Errorf("encoding the key of %s: %w", name, err)
	}
	return files, writePEM(files.keyPath, "EC PRIVATE KEY", der)
}

// writeSigningKey makes the key pair that service account tokens are signed and checked with.
func writeSigningKey(folder string) (public, private string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("making the service account key: %w", err)
	}
	privateDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", "", fmt.Errorf("encoding the service account key: %w", err)
	}
	publicDER, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return "", "", fmt.Errorf("encoding the public service account key: %w", err)
	}
	public, private = filepath.Join(folder, "service-account.pub"), filepath.Join(folder, "service-account.key")
	if err := writePEM(private, "EC PRIVATE KEY", privateDER); err != nil {
		return "", "", err
	}
	return public, private, writePEM(public, "PUBLIC KEY", publicDER)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
