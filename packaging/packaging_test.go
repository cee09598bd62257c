package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// have skips a test where a program is not there.
func have(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s", name)
		}
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	b, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, b)
	}
	return string(b)
}

// bin is the program, built once.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "packaging")
	if err == nil {
		bin = filepath.Join(dir, "perdure")
		var said []byte
		if said, err = exec.Command("go", "build", "-buildvcs=false", "-o", bin, "../cmd/perdure").
			CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, said)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// TestTheDebianPackageIsInstalledElsewhere installs it into a folder, as whoever makes an image does.
func TestTheDebianPackageIsInstalledElsewhere(t *testing.T) {
	have(t, "dpkg", "dpkg-deb", "gzip", "install", "systemd-sysusers")
	if os.Geteuid() != 0 {
		t.Skip("only root may")
	}
	dir := t.TempDir()
	output(t, "./deb.sh", bin, "v0.1.0", runtime.GOARCH, dir)
	root := filepath.Join(dir, "image")
	for _, made := range []string{"etc", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		if err := os.MkdirAll(filepath.Join(root, made), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	deb := filepath.Join(dir, "perdure_0.1.0_"+runtime.GOARCH+".deb")
	output(t, "dpkg", "--root="+root, "--force-depends", "--force-script-chrootless", "-i", deb)
	users, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil || !strings.Contains(string(users), "perdure:") {
		t.Errorf("there is no user there: %v\n%s", err, users)
	}
	if info, err := os.Stat(filepath.Join(root, "etc/perdure")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("/etc/perdure: %v, %v", info, err)
	}
	output(t, "dpkg", "--root="+root, "--force-script-chrootless", "-r", "perdure")
}

func TestTheDebianPackageHasWhatItShould(t *testing.T) {
	have(t, "dpkg-deb", "gzip", "install")
	dir := t.TempDir()
	output(t, "./deb.sh", bin, "v0.1.0-3-gabc", runtime.GOARCH, dir)
	deb := filepath.Join(dir, "perdure_0.1.0+3~gabc_"+runtime.GOARCH+".deb")
	if got := output(t, "dpkg-deb", "--field", deb, "Package", "Version"); !strings.Contains(got, "Package: perdure") ||
		!strings.Contains(got, "0.1.0+3~gabc") {
		t.Errorf("fields: %s", got)
	}
	content := output(t, "dpkg-deb", "-c", deb)
	for _, want := range []string{
		`(?m)^drwxr-xr-x root/root .* \./\n`, `-rwxr-xr-x root/root .* \./usr/bin/perdure\n`,
		`-rw-r--r-- root/root .* \./usr/lib/systemd/system/perdure.service\n`, `\./usr/lib/sysusers.d/perdure.conf\n`,
		`\./usr/share/man/man1/perdure.1.gz\n`, `\./usr/share/man/man1/perdure-node.1.gz\n`,
		`\./usr/share/man/man7/perdure-script.7.gz\n`,
		`\./usr/share/bash-completion/completions/perdure\n`, `\./usr/share/doc/perdure/copyright\n`,
	} {
		if !regexp.MustCompile(want).MatchString(content) {
			t.Errorf("no %s in\n%s", want, content)
		}
	}
	if strings.Contains(content, "/home/") || strings.Contains(content, "/var/") {
		t.Errorf("it brings files of a user:\n%s", content)
	}
	out := filepath.Join(dir, "root")
	output(t, "dpkg-deb", "-x", deb, out)
	if got := output(t, filepath.Join(out, "usr/bin/perdure"), "version"); got == "" {
		t.Error("the program in it does not run")
	}
}

// TestTheUnitIsHardened has systemd say how much of the system the service can reach: 0 is nothing, 10 everything.
// A package of a later commit is an upgrade: one after a tag of the tag, and one without a tag of an earlier one.
func TestPackagesOfCommitsAreOrdered(t *testing.T) {
	have(t, "dpkg")
	version := func(of string) string { return strings.TrimSpace(output(t, "./deb.sh", bin, of)) }
	bare := version("031d82d4")
	if !regexp.MustCompile(`^0~20[0-9]{12}\.031d82d4$`).MatchString(bare) {
		t.Errorf("a commit has the version %s, want its time first", bare)
	}
	order := []string{bare, version("v0.1.0-rc1"), version("v0.1.0"), version("v0.1.0-3-gabc"), version("v0.1.1")}
	for i := range order[1:] {
		output(t, "dpkg", "--compare-versions", order[i], "lt", order[i+1])
	}
}

func TestTheUnitIsHardened(t *testing.T) {
	have(t, "systemd-analyze")
	b, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager",
		"perdure.service").CombinedOutput()
	if strings.Contains(string(b), "unrecognized option") {
		t.Skip("systemd is too old to say")
	}
	if err != nil || !strings.Contains(string(b), "Overall exposure level") {
		t.Errorf("%v\n%s", err, b)
	}
}

// TestRecipesNameCommandsThatAreThere looks whether what the unit and the container run is a command line that perdure
// takes.
func TestRecipesNameCommandsThatAreThere(t *testing.T) {
	flags := output(t, bin, "serve", "--help")
	for file, pattern := range map[string]string{"perdure.service": `ExecStart=/usr/bin/perdure serve (.*)`,
		"Containerfile": `CMD \["serve", (.*)\]`} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindSubmatch(text)
		if m == nil {
			t.Errorf("%s does not run perdure serve", file)
			continue
		}
		for _, word := range regexp.MustCompile(`--[a-z-]+`).FindAllString(string(m[1]), -1) {
			if !strings.Contains(flags, word) {
				t.Errorf("%s gives %s, which perdure serve does not take", file, word)
			}
		}
	}
}
