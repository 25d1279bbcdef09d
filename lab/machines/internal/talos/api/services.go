package api

import (
	"context"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"talos-gpu/lab/machines/internal/spec"
)

func (s *machineService) ServiceList(context.Context, *emptypb.Empty) (*machine.ServiceListResponse, error) {
	list := &machine.ServiceList{}

	for _, service := range s.m.Services() {
		health := &machine.ServiceHealth{Unknown: service.Unknown, Healthy: service.Healthy, LastChange: timestamppb.Now()}

		list.Services = append(list.Services, &machine.ServiceInfo{
			Id: service.ID, State: service.State, Health: health,
			Events: &machine.ServiceEvents{Events: []*machine.ServiceEvent{{Msg: service.Message, State: service.State, Ts: timestamppb.Now()}}},
		})
	}

	return &machine.ServiceListResponse{Messages: []*machine.ServiceList{list}}, nil
}

// SystemStat: of all it could say, the lab knows when the machine booted.
func (s *machineService) SystemStat(context.Context, *emptypb.Empty) (*machine.SystemStatResponse, error) {
	return &machine.SystemStatResponse{Messages: []*machine.SystemStat{{BootTime: uint64(time.Now().Unix())}}}, nil
}

// members of etcd: every control plane of the stack is one.
func (s *machineService) members() []spec.Machine {
	var list []spec.Machine

	for _, member := range s.m.Environment().Cluster {
		if member.Role == "controlplane" {
			list = append(list, member)
		}
	}

	return list
}

// memberID is made of the address, so that it stays the same.
func memberID(member spec.Machine) uint64 {
	sum := uint64(14695981039346656037)
	for _, char := range member.Address {
		sum = (sum ^ uint64(char)) * 1099511628211
	}

	return sum
}

func (s *machineService) onControlPlane(call string) error {
	if s.m.Role() != "controlplane" {
		return status.Errorf(codes.Unimplemented, "%s is only available on control plane nodes", call)
	}

	return nil
}

func (s *machineService) EtcdMemberList(context.Context, *machine.EtcdMemberListRequest) (*machine.EtcdMemberListResponse, error) {
	if err := s.onControlPlane("member list"); err != nil {
		return nil, err
	}

	members := &machine.EtcdMembers{}

	for _, member := range s.members() {
		members.LegacyMembers = append(members.LegacyMembers, member.Name)
		members.Members = append(members.Members, &machine.EtcdMember{
			Id: memberID(member), Hostname: member.Name,
			PeerUrls: []string{"https://" + member.Address + ":2380"}, ClientUrls: []string{"https://" + member.Address + ":2379"},
		})
	}

	return &machine.EtcdMemberListResponse{Messages: []*machine.EtcdMembers{members}}, nil
}

// EtcdStatus of the machine's member. The first control plane leads.
func (s *machineService) EtcdStatus(context.Context, *emptypb.Empty) (*machine.EtcdStatusResponse, error) {
	if err := s.onControlPlane("etcd status"); err != nil {
		return nil, err
	}

	answer := &machine.EtcdMemberStatus{StorageVersion: "3.6.0", ProtocolVersion: "3.6.0", DbSize: 20 << 20, DbSizeInUse: 10 << 20, RaftTerm: 2, RaftIndex: 1000, RaftAppliedIndex: 1000}

	members := s.members()
	answer.Leader = memberID(members[0])

	for _, member := range members {
		if member.Name == s.m.Key() {
			answer.MemberId = memberID(member)
		}
	}

	return &machine.EtcdStatusResponse{Messages: []*machine.EtcdStatus{{MemberStatus: answer}}}, nil
}

// EtcdAlarmList: there are none.
func (s *machineService) EtcdAlarmList(context.Context, *emptypb.Empty) (*machine.EtcdAlarmListResponse, error) {
	if err := s.onControlPlane("etcd alarm list"); err != nil {
		return nil, err
	}

	return &machine.EtcdAlarmListResponse{Messages: []*machine.EtcdAlarm{{}}}, nil
}
