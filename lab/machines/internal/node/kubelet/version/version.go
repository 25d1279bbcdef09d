// Package version reads the versions that images' tags and drivers bear.
package version

import (
	"strconv"
	"strings"
)

// OfImage is the image's tag; "" without one.
func OfImage(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndexByte(image, '/')+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}

// Compare compares dotted numbers.
func Compare(a, b string) int {
	left, right := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(left), len(right)) {
		difference := part(left, i) - part(right, i)
		if difference != 0 {
			return difference
		}
	}
	return 0
}

func part(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	number, _ := strconv.Atoi(parts[i])
	return number
}
