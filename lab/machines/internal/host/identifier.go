package host

import (
	"crypto/sha256"
	"fmt"
)

// Identifier is a UUID for something of a machine, e.g. gpu-0. It stays the same from lab to lab.
func Identifier(machine, what string) string {
	sum := sha256.Sum256([]byte(machine + "/" + what))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
