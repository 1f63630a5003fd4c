// What a stranger at the socket of a server sends, and what a server that has lost its mind answers: it is refused with a reason, or it is
// a message whose parts fit; a tensor lies within its slab.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "forebay/ledger.h"
#include "serve/memory/mapped_slabs.h"
#include "serve/memory/shared_blocks.h"
#include "serve/wire/channel.h"
#include "serve/wire/ledger_message.h"
#include "serve/wire/message.h"

using namespace forebay;

static void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

template <typename T>
static void read(std::string_view bytes) {
  const Result<T> value = from_message<T>(bytes);
  require(value.ok() || value.status().code() == Code::kCorrupt, "what is no message is Corrupt");
  if (!value.ok()) return;
  require(from_message<T>(to_message(*value)).ok(), "what was understood can be said again");
}

static const MappedSlabs& one_slab() {
  static const MappedSlabs* const slabs = [] {
    auto* const made = new MappedSlabs();
    auto slab = Slab::make(1, 1 << 16);
    require(slab.ok() && made->add({1, 1 << 16}, FileDescriptor(dup((*slab)->descriptor()))).ok(), "a slab is mapped");
    return made;
  }();
  return *slabs;
}

static void read_batch(std::string_view bytes) {
  const Result<BatchMessage> batch = from_message<BatchMessage>(bytes);
  if (!batch.ok()) return;
  uint64_t sum = 0;
  for (const FieldMessage& field : batch->fields) {
    const Result<Tensor> tensor = one_slab().tensor(field.values, nullptr);
    if (!tensor.ok() || tensor->buffer.data() == nullptr) continue;
    for (const uint8_t byte : tensor->buffer.span()) sum += byte;
  }
  require(sum < UINT64_MAX, "the bytes are there");
}

// As they come over the socket, in the pieces that the kernel makes.
static void receive(std::string_view bytes) {
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "there are sockets");
  Channel channel{FileDescriptor(ends[1]), 4096, Channel::Descriptors::kAccept};
  {
    const FileDescriptor from(ends[0]);
    (void)!write(from.get(), bytes.data(), bytes.size());
  }
  while (true) {
    const auto frame = channel.receive(std::chrono::milliseconds(0));
    if (!frame.ok()) break;
    require(frame->has_value() && (*frame)->body.size() <= 4096, "no more than was allowed");
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), std::min<size_t>(size, 16'384));
  receive(bytes);
  read<Hello>(bytes);
  read<OpenRequest>(bytes);
  read<LoadRequest>(bytes);
  read<TraceRequest>(bytes);
  read<LoaderInfo>(bytes);
  read<Ledger>(bytes);
  read<SourceInfo>(bytes);
  read<EndMessage>(bytes);
  read<BatchMessage>(bytes);
  read<std::vector<SlabMessage>>(bytes);
  read<std::vector<ErrorEntry>>(bytes);
  read<std::vector<uint64_t>>(bytes);
  read_batch(bytes);
  (void)status_from_message(bytes);
  return 0;
}
