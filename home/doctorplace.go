package home

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
)

// placed looks whether the store can be told from its copies. One whose place is damaged gets a new one when it is
// mended: then it is to its agents what a copy is, and their seat must be taken.
func (d *Doctor) placed() {
	if d.h.remote != "" {
		return
	}
	path := sqlite.PlaceFile(d.h.File)
	if d.h.Scheme == "dir" {
		path = dir.PlaceFile(d.h.File)
	}
	_, _, err := disk.Place[[32]byte](path, 0, true, nil)
	if !errors.Is(err, disk.ErrPlace) {
		return // what else is wrong is said when the store is opened
	}
	const take = `perdure seat take --all --why "the place of the store was damaged"`
	if !d.Repair {
		d.say("place", Unwell, "perdure doctor --repair, then "+take, "%v", err)
		return
	}
	if rerr := os.Remove(path); rerr == nil {
		_, rerr = d.h.ownPlace(context.Background())
		if rerr == nil {
			d.say("place", Odd, take, "%v; it has a new place, at which the seat of no agent is: nothing that must "+
				"happen once is done until their seats are taken", err)
			return
		}
		err = errors.Join(err, rerr)
	} else {
		err = errors.Join(err, rerr)
	}
	d.say("place", Unwell, "remove "+path+", then "+take, "%v", err)
}

// remnant is the name of what is written beside a file that it is to replace, and of what belongs to that.
var remnant = regexp.MustCompile(`(\.new-[0-9a-f]{8}|\.perdure-part)(-wal|-shm|-journal|-blobs)?$`)

// deadAfter is after how long without a change what is written beside a file was left by a process that has ended:
// those that live write all the time.
const deadAfter = time.Hour

// remnants looks for what was cut short while it was written in the folder of the home, or beside a store that lies in
// a folder of other things. It is removed when the home is mended, unless somebody may still be writing it.
func (d *Doctor) remnants() {
	names, err := os.ReadDir(d.h.Dir)
	if err != nil {
		return // it is said elsewhere
	}
	for _, one := range names {
		name := one.Name()
		if !remnant.MatchString(name) || d.h.Loose && !strings.HasPrefix(name, filepath.Base(d.h.File)) {
			continue
		}
		path := filepath.Join(d.h.Dir, name)
		info, err := one.Info()
		if err != nil {
			continue // it is gone
		}
		dead := time.Since(info.ModTime()) > deadAfter || d.abandoned(name)
		if dead && d.Repair {
			if err = os.RemoveAll(path); err == nil {
				d.say("stray", Well, "", "%s was left by something that was cut short: it is removed", path)
				continue
			}
		}
		fix := "remove " + path + " if no perdure is running"
		if dead && !d.Repair {
			fix = "perdure doctor --repair"
		}
		d.say("stray", Odd, fix, "%s was left by something that was cut short", path)
	}
}

// abandoned reports whether a remnant is of the store's file, and nobody is writing it.
func (d *Doctor) abandoned(name string) bool {
	if d.h.Scheme != "sqlite" || !strings.HasPrefix(name, filepath.Base(d.h.File)+".") {
		return false
	}
	if !d.Repair {
		return true // it will be seen then
	}
	r, err := disk.Reserve(d.h.File)
	return err == nil && r.Release() == nil
}
