package perdure

import "testing"

// What a collection drops is not shown to the advisor any more, also of messages for which the inbox had no room.
func TestWhatACollectionDropsIsGoneFromWhatFell(t *testing.T) {
	event := HashOf([]byte("event"))
	said, err := DataOf("what was said")
	if err != nil {
		t.Fatal(err)
	}
	f := &Fold{}
	f.fall(Message{Event: event, Name: "told", Data: said})
	f.blank([]Hash{event})
	for _, m := range f.Unseen() {
		if len(m.Data) > 0 {
			t.Errorf("the advisor is still shown %s", m.Data)
		}
	}
	if f.fallenBytes != 0 {
		t.Errorf("%d bytes are still counted", f.fallenBytes)
	}
}
