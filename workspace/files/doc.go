// Package files keeps the memory of a role as a folder that people read and edit.
//
// What a role may see becomes files: its own notes at the top, shared documents below team and public, and pages that
// are derived from its memory (progress.txt, ERRORS.md). What a person changes in a file comes back as a version of
// its document, merged line by line with what was written meanwhile against the text that was projected. What was
// projected is kept beside the store, written before the file is, so that a crash at any point neither loses a text
// nor takes one in twice. Where both changed the same words, both are kept and shown, between marks.
//
// The folder is a projection: whatever is in it is in memory, too, once it was synced, and nothing here decides
// anything.
package files
