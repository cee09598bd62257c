// Package packaging holds the recipes of packages and services: a systemd unit, a Debian package, a container. Its
// tests try them where the tools are.
package packaging
