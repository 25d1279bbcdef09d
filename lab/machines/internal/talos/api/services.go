package api

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"talos-gpu/lab/machines/internal/spec"
)

func (*machineService) ServiceList(ctx context.Context, _ *emptypb.Empty) (*machine.ServiceListResponse, error) {
	list := &machine.ServiceList{}
	for _, service := range of(ctx).Services() {
		list.Services = append(list.Services, &machine.ServiceInfo{
			Id: service.ID, State: service.State, Health: &machine.ServiceHealth{Unknown: !service.Healthy, Healthy: service.Healthy, LastChange: timestamppb.Now()},
			Events: &machine.ServiceEvents{Events: []*machine.ServiceEvent{{Msg: service.Message, State: service.State, Ts: timestamppb.Now()}}},
		})
	}
	return &machine.ServiceListResponse{Messages: []*machine.ServiceList{list}}, nil
}

// members of etcd: every control plane of the stack is one. The first one leads.
func members(t target, call string) (list []spec.Machine, err error) {
	if t.Role() != "controlplane" {
		return nil, status.Errorf(codes.Unimplemented, "%s is only available on control plane nodes", call)
	}
	for _, member := range t.Environment().Cluster {
		if member.Role == "controlplane" {
			list = append(list, member)
		}
	}
	return list, nil
}

// memberID is made of the address, so that it stays the same.
func memberID(member spec.Machine) uint64 {
	sum := uint64(14695981039346656037)
	for _, char := range member.Address {
		sum = (sum ^ uint64(char)) * 1099511628211
	}
	return sum
}

func (*machineService) EtcdMemberList(ctx context.Context, _ *machine.EtcdMemberListRequest) (*machine.EtcdMemberListResponse, error) {
	list, err := members(of(ctx), "member list")
	if err != nil {
		return nil, err
	}
	members := &machine.EtcdMembers{}
	for _, member := range list {
		members.Members = append(members.Members, &machine.EtcdMember{
			Id: memberID(member), Hostname: member.Name,
			PeerUrls: []string{"https://" + member.Address + ":2380"}, ClientUrls: []string{"https://" + member.Address + ":2379"},
		})
	}
	return &machine.EtcdMemberListResponse{Messages: []*machine.EtcdMembers{members}}, nil
}

func (*machineService) EtcdStatus(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdStatusResponse, error) {
	list, err := members(of(ctx), "etcd status")
	if err != nil {
		return nil, err
	}
	answer := &machine.EtcdMemberStatus{
		Leader: memberID(list[0]), StorageVersion: "3.6.0", ProtocolVersion: "3.6.0", DbSize: 20 << 20, DbSizeInUse: 10 << 20, RaftTerm: 2, RaftIndex: 1000, RaftAppliedIndex: 1000,
	}
	for _, member := range list {
		if member.Name == of(ctx).Key() {
			answer.MemberId = memberID(member)
		}
	}
	return &machine.EtcdStatusResponse{Messages: []*machine.EtcdStatus{{MemberStatus: answer}}}, nil
}
