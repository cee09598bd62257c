package server

// TakePlaces takes all places for requests that read whole memories, until the test frees them.
func (s *Server) TakePlaces() (free func()) {
	for range cap(s.places) {
		s.places <- struct{}{}
	}
	return func() {
		for range cap(s.places) {
			<-s.places
		}
	}
}

// MaxBuckets is how many visitors a gate tells apart.
const MaxBuckets = maxBuckets

// LargeRequests is how many requests with a body that counts are under way.
func (s *Server) LargeRequests() (n int) {
	s.bodies.mu.Lock()
	defer s.bodies.mu.Unlock()
	for _, of := range s.bodies.of {
		n += of.requests
	}
	return n
}
