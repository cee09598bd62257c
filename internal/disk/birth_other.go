//go:build !linux

package disk

import (
	"os"
	"reflect"
)

// birth is the number of a file and when it was made, as far as this system's Stat tells.
func birth(f *os.File) (number uint64, born int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	st := reflect.Indirect(reflect.ValueOf(info.Sys()))
	if st.Kind() != reflect.Struct {
		return 0, 0, nil
	}
	if v := st.FieldByName("Ino"); v.IsValid() && v.CanUint() {
		number = v.Uint()
	}
	for _, name := range []string{"Birthtimespec", "CreationTime"} { // of macOS and the BSDs; of Windows
		v := st.FieldByName(name)
		if !v.IsValid() || v.Kind() != reflect.Struct {
			continue
		}
		for _, part := range v.Fields() {
			switch {
			case part.CanInt():
				born = born*1e9 + part.Int()
			case part.CanUint():
				born = born<<32 + int64(part.Uint())
			}
		}
	}
	return number, born, nil
}
