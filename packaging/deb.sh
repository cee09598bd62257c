#!/bin/sh
# deb.sh BINARY VERSION ARCH FOLDER makes FOLDER/perdure_VERSION_ARCH.deb of a program that was built. It needs dpkg-deb.
# With nothing but BINARY VERSION it prints the version that the package would have.
set -eu
bin=$1 version=$2 arch=${3-} out=${4-}
here=$(cd "$(dirname "$0")" && pwd)

# A version of a package begins with a digit, and - is for the package itself. What was built of a commit after a tag is
# newer than the tag (+), what leads to one is older (~). A commit without a tag is ordered by its time.
version=$(printf %s "${version#v}" | sed 's/-\([0-9][0-9]*-g[0-9a-f]\)/+\1/' | tr - '~')
case $version in
[0-9]*.*) ;;
*) version=0~$(TZ=UTC0 git -C "$here" log -1 --format=%cd --date=format-local:%Y%m%d%H%M%S 2>/dev/null || date -u +%Y%m%d%H%M%S).$version ;;
esac
[ -n "$arch" ] || { echo "$version"; exit; }

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
umask 022
chmod 0755 "$root"
install -D -m 0755 "$bin" "$root/usr/bin/perdure"
install -D -m 0644 "$here/perdure.service" "$root/usr/lib/systemd/system/perdure.service"
install -D -m 0644 "$here/sysusers.conf" "$root/usr/lib/sysusers.d/perdure.conf"
install -D -m 0644 "$here/../LICENSE" "$root/usr/share/doc/perdure/copyright"
install -D -m 0644 "$here/../docs/operations.md" "$root/usr/share/doc/perdure/operations.md"
install -D -m 0644 "$here/../docs/server.md" "$root/usr/share/doc/perdure/server.md"
install -D -m 0644 "$here/../docs/webhooks.md" "$root/usr/share/doc/perdure/webhooks.md"
"$bin" man --dir "$root/usr/share/man" >/dev/null
find "$root/usr/share/man" -type f -exec gzip -9n {} +
for shell in bash:usr/share/bash-completion/completions/perdure zsh:usr/share/zsh/vendor-completions/_perdure fish:usr/share/fish/vendor_completions.d/perdure.fish; do
	mkdir -p "$root/$(dirname "${shell#*:}")"
	"$bin" completion "${shell%%:*}" >"$root/${shell#*:}"
done

mkdir "$root/DEBIAN"
install -m 0755 "$here/postinst" "$here/prerm" "$root/DEBIAN/"
cat >"$root/DEBIAN/control" <<CONTROL
Package: perdure
Version: $version
Architecture: $arch
Maintainer: Perdure maintainers <perdure@localhost>
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: adduser | systemd
Recommends: ca-certificates
Section: utils
Priority: optional
Description: runtime for AI agents whose execution state lives inside the agent
 Kill the process, move the file, wait a week, lose the network: the same agent
 goes on where it was, and anyone can check what it did and why.
CONTROL
mkdir -p "$out"
dpkg-deb --root-owner-group --build "$root" "$out/perdure_${version}_$arch.deb"
