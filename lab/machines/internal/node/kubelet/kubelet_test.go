package kubelet

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

var (
	runs = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	well = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	ill  = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}
)

func TestPhaseOf(t *testing.T) {
	again := corev1.ContainerStatus{State: waiting("CrashLoopBackOff", ""), LastTerminationState: ill}
	for _, test := range []struct {
		containers         []corev1.ContainerStatus
		initDone, finished bool
		want               corev1.PodPhase
	}{
		{[]corev1.ContainerStatus{{State: runs}}, false, false, corev1.PodPending},
		{[]corev1.ContainerStatus{{State: runs}, {State: waiting("ErrImagePull", "")}}, true, false, corev1.PodPending},
		{[]corev1.ContainerStatus{{State: runs}, again}, true, false, corev1.PodRunning},
		{[]corev1.ContainerStatus{{State: well}, {State: well}}, true, true, corev1.PodSucceeded},
		{[]corev1.ContainerStatus{{State: well}, {State: ill}}, true, true, corev1.PodFailed},
	} {
		if got := phaseOf(corev1.PodStatus{ContainerStatuses: test.containers}, test.initDone, test.finished); got != test.want {
			t.Errorf("%+v: %s, want %s", test, got, test.want)
		}
	}
}

func TestARebootIsARestart(t *testing.T) {
	containers := []corev1.Container{{Name: "ran"}, {Name: "done"}}
	after := begin(containers, []corev1.ContainerStatus{{Name: "ran", State: runs, RestartCount: 2}, {Name: "done", State: well}}, "ContainerCreating")
	if ran := after[0]; ran.RestartCount != 3 || ran.State.Waiting == nil || ran.LastTerminationState.Terminated.Reason != "ContainerStatusUnknown" {
		t.Errorf("a container that ran: %+v", ran)
	}
	if done := after[1]; done.RestartCount != 0 || done.LastTerminationState.Terminated == nil {
		t.Errorf("a container that had succeeded: %+v", done)
	}
}

func TestReadyIsWhoSaysSo(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}}}
	for ready, want := range map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse} {
		own := conditions(pod, corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: ready}}}, true, true)
		if own[2].Type != corev1.PodReady || own[2].Status != want || own[len(own)-1].Type != corev1.PodScheduled {
			t.Errorf("ready %v: %+v", ready, own)
		}
	}
}

func TestLogsKeepTheRunBefore(t *testing.T) {
	l, pod := newLogs(), &corev1.Pod{}
	for run := range 2 {
		log := l.begin(pod, "main")
		for line := range 100 {
			fmt.Fprintf(log, "run %d line %d\n", run, line)
		}
	}
	runs := l.runs["//main"]
	if now, then := runs[0].last(1), runs[1].last(2); now != "run 1 line 99" || then != "run 0 line 98\nrun 0 line 99" {
		t.Errorf("%q, %q", now, then)
	}
}

func TestOnlyAChangedStatusIsWritten(t *testing.T) {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "server", UID: "1"}}
	client := fake.NewClientset(object)
	p := &pod{session: &session{client: client, ctx: t.Context()}, Pod: object, current: object}
	for _, message := range []string{"", "", "up", "up", ""} {
		p.change(t.Context(), func() { p.status.Message = message })
	}
	if writes := len(client.Actions()); writes != 3 {
		t.Errorf("%d writes of a status that changed twice after the first write", writes)
	}
}
