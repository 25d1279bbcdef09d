package apid

import (
	"context"
	"errors"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"talos-gpu/lab/machines/internal/talos/machine"
)

// backend is one machine of a call.
type backend struct {
	// target is how the caller named it, and how it is named in the answer.
	target      string
	machine     *machine.Machine // nil: no such machine
	viaEndpoint bool
}

func (b *backend) String() string { return b.target }

// GetConnection counts the call, lets faults happen, and gives the connection to the machine.
func (b *backend) GetConnection(ctx context.Context, _ string) (context.Context, *grpc.ClientConn, error) {
	if b.machine == nil {
		return ctx, nil, status.Errorf(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: dial tcp %s:50000: connect: no route to host\"", b.target)
	}
	lost, err := b.machine.Called(ctx)
	if err != nil {
		return ctx, nil, err
	}
	if lost {
		loseAnswer(ctx)
	}
	conn, err := b.machine.Conn()
	return outgoing(ctx, b.viaEndpoint), conn, err
}

// messagesField is the number of the repeated field that every answer of MachineService consists of.
const messagesField = 1

// AppendInfo adds the node to an answer: protobuf messages of one type may be appended to each other, so an `Empty` with
// only the metadata completes the message (talos v1.13.0 internal/app/apid/pkg/backend/apid.go).
func (b *backend) AppendInfo(streaming bool, response []byte) ([]byte, error) {
	info, err := proto.Marshal(&common.Empty{Metadata: &common.Metadata{Hostname: b.target}})
	if err != nil || streaming {
		return append(response, info...), err
	}
	number, kind, n := protowire.ConsumeTag(response)
	if n < 0 || number != messagesField || kind != protowire.BytesType {
		return nil, errors.New("answer is not a list of messages")
	}
	message, rest := protowire.ConsumeBytes(response[n:])
	if rest < 0 {
		return nil, protowire.ParseError(rest)
	}
	complete := append(append([]byte(nil), message...), info...)
	return protowire.AppendBytes(protowire.AppendTag(nil, messagesField, protowire.BytesType), complete), nil
}

// BuildError turns a machine's error into its message of the common answer.
func (b *backend) BuildError(streaming bool, err error) ([]byte, error) {
	message := &common.Empty{Metadata: &common.Metadata{Hostname: b.target, Error: err.Error(), Status: status.Convert(err).Proto()}}
	if streaming {
		return proto.Marshal(message)
	}
	return proto.Marshal(&common.EmptyResponse{Messages: []*common.Empty{message}})
}
