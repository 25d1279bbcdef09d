// Package zxcvbn is the same meter under its fork's name, by which Pulumi's `esc` asks (pkg/cmd/esc/cli/env_set.go).
package zxcvbn

import meter "github.com/nbutton23/zxcvbn-go"

// PasswordStrength is the meter's.
var PasswordStrength = meter.PasswordStrength
