// Package zxcvbn stands in for the password meter by which `pulumi config set` asks whether a plain value looks like a secret
// (pulumi v3.259.0, pkg/cmd/pulumi/config/config.go, looksLikeSecret). The meter reads its lists of common words when Pulumi starts:
// more than half of what a start takes (GODEBUG=inittrace=1). A lab starts Pulumi for every preview and update, and never sets a
// value so.
package zxcvbn

import "math"

// Strength is how hard a value is to guess, as far as its caller asks.
type Strength struct {
	// Entropy in bits.
	Entropy float64
}

// PasswordStrength is the entropy of a value whose characters are drawn by chance from those that it has.
func PasswordStrength(value string, _ []string) Strength {
	different := map[rune]bool{}
	for _, character := range value {
		different[character] = true
	}
	return Strength{Entropy: float64(len(value)) * math.Log2(math.Max(float64(len(different)), 1))}
}
