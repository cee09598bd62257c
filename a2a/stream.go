package a2a

import (
	"context"
	"iter"
	"reflect"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// SubscribeToTask implements a2asrv.RequestHandler: the task, and then each change of its status, until it is over or
// somebody has to say something.
func (t tasks) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		changed := view.Watch(ctx, t.s.Store)
		var last *a2a.Task
		for {
			now, err := t.s.task(ctx, req.ID, nil)
			if err != nil {
				yield(nil, err)
				return
			}
			if (last == nil && !yield(now, nil)) || (last != nil && !reflect.DeepEqual(last.Status, now.Status) &&
				!t.changed(now, yield)) {
				return
			}
			last = now
			if st := now.Status.State; st.Terminal() || st == a2a.TaskStateInputRequired ||
				st == a2a.TaskStateAuthRequired {
				return
			}
			if !concerns(ctx, changed, now.ID) {
				return
			}
		}
	}
}

// concerns waits until the agent of a task may have changed, whatever others do. False: nobody waits any more.
func concerns(ctx context.Context, changed *view.Changes, task a2a.TaskID) bool {
	var id perdure.AgentID
	if id.UnmarshalText([]byte(task)) != nil {
		return false
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-changed.Signal:
		}
		ids, all := changed.Take()
		if _, is := ids[id]; is || all {
			return true
		}
	}
}

// changed yields what is new of a task.
func (tasks) changed(now *a2a.Task, yield func(a2a.Event, error) bool) bool {
	for _, one := range now.Artifacts {
		if !yield(&a2a.TaskArtifactUpdateEvent{TaskID: now.ID, ContextID: now.ContextID, Artifact: one,
			LastChunk: true}, nil) {
			return false
		}
	}
	return yield(&a2a.TaskStatusUpdateEvent{TaskID: now.ID, ContextID: now.ContextID, Status: now.Status}, nil)
}
