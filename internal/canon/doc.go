// Package canon turns values into canonical bytes and back.
//
// A value has three forms. The binary form is deterministic CBOR (RFC 8949 §4.2.1) and is what is stored, hashed and
// signed. The described form is the same CBOR with field names and the schema beside it. The text form is JSON in RFC
// 8785 order. Every value has exactly one spelling in each form, and every other byte string is refused with a
// *Rejection that names the predicate it broke, the path and the offset.
//
// A Type says what a value may be. Codec derives a Type from Go struct tags and moves values between bytes and structs;
// Check, ToText, FromText, ToDescribed, FromDescribed and Reader need only the Type. One walker decides what is
// canonical for all of them, so they cannot disagree.
//
// # Profile
//
// Definite lengths, shortest integers from -2^63 to 2^64-1, map keys sorted by their encoded bytes without duplicates,
// floats in the shortest of 16, 32 and 64 bits that keeps the value, one NaN (f97e00), the simple values false, true
// and null, no tags. A float stays a float: 1.0 is f93c00 and is not the integer 1. Map keys are text, or, in records,
// small unsigned integers.
//
// Text is valid UTF-8 in NFC, made of code points assigned in Unicode 15.0.0, with at most 30 non-starters in a row
// (UAX #15, Stream-Safe Text). Normalization of assigned code points never changes, so a verdict outlives the Unicode
// tables it was made with. Verbatim text and Data are valid UTF-8 and nothing more.
package canon
