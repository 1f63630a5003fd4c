// Bytes that a stranger, or a host that is broken, sends to the others of a job: they are refused with a
// reason, or are a request or a response whose parts lie inside of them.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cluster/address.h"
#include "cluster/entry_service.h"
#include "cluster/run_terms.h"
#include "stream/ranks/rank_messages.h"

using namespace forebay;

static void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

static void require_same(const Buffer& again, std::span<const uint8_t> bytes) {
  require(again.size() == bytes.size() && std::memcmp(again.data(), bytes.data(), bytes.size()) == 0,
          "a request is written in one way only");
}

// Fields that strangers make have no checksum that is right: the fuzzer would never get behind it.
static Buffer with_checksum(std::string_view kind, const uint8_t* data, size_t size) {
  MessageFields out(kind);
  for (size_t i = 0; i < size; ++i) out.put(data[i]);
  return out.done();
}

static void read_entry_request(std::span<const uint8_t> bytes) {
  const auto wanted = parse_entry_request(bytes);
  require(wanted.ok() || wanted.status().code() == Code::kCorrupt, "what is no request is Corrupt");
  if (!wanted.ok()) return;
  require(wanted->size() <= kMostEntries, "as many entries as there may be");
  require_same(encode_entry_request(*wanted), bytes);
}

static void read_rank_request(std::span<const uint8_t> bytes) {
  const auto request = parse_rank_request(bytes);
  require(request.ok() || request.status().code() == Code::kCorrupt, "what is no request of a rank is Corrupt");
  if (request.ok()) require_same(encode_rank_request(*request), bytes);
}

static void read_leader(size_t partitions, const uint8_t* data, size_t size) {
  const auto response = parse_leader_response(with_checksum("fbstrld2", data, size).span(), partitions);
  require(response.ok() || response.status().code() == Code::kCorrupt, "what is no response of rank 0 is Corrupt");
  if (response.ok() && response->kind == LeaderResponse::Kind::kDecision)
    require(response->decision.size() > 0, "a decision has records");
  const auto run = parse_run(with_checksum("fbrunrs1", data, size).span());
  require(run.ok() || run.status().code() == Code::kCorrupt, "what are no settings is Corrupt");
}

static void read_entries(size_t count, const uint8_t* data, size_t size) {
  std::vector<EntryRequest> wanted(count);
  for (size_t i = 0; i < count; ++i) wanted[i] = {{i, i}, i % 2 == 0 ? UINT64_MAX : 100 * i};
  const size_t fields = size < 200 ? size : 200;
  Buffer body = Buffer::allocate(size - fields);
  if (!body.empty()) std::memcpy(body.data(), data + fields, body.size());
  MessageFields out("fbentrs1");
  for (size_t i = 0; i < fields; ++i) out.put(data[i]);
  const auto items = parse_entry_response(wanted, joined(out.done_with({body})));
  require(items.ok() || items.status().code() == Code::kCorrupt, "what is no response is Corrupt");
  if (!items.ok()) return;
  require(items->size() == count, "an item for each entry");
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const ResponseItem& item = (*items)[i];
    require(item.body.size() <= wanted[i].most_bytes, "no more than was wanted");
    for (const uint8_t byte : item.body.span()) sum += byte;
  }
  require(sum < UINT64_MAX, "the bytes are there");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)parse_host_port({reinterpret_cast<const char*>(data), size});
  read_entry_request({data, size});
  read_entry_request(with_checksum("fbentrq1", data, size).span());
  read_rank_request(with_checksum("fbstrrq2", data, size).span());
  if (size == 0) return 0;
  read_leader(data[0] % 8, data + 1, size - 1);
  read_entries(data[0] % 8, data + 1, size - 1);
  return 0;
}
