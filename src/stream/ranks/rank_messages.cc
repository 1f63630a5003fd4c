#include "stream/ranks/rank_messages.h"

#include <climits>
#include <utility>

namespace forebay {

namespace {

constexpr std::string_view kRankRequest = "fbstrrq2", kLeaderResponse = "fbstrld2", kRankItems = "fbstrit1";

Status no_request() { return corrupt("a message of a rank asks for nothing that ranks have"); }
Status no_leader_response() { return corrupt("a message of rank 0 says nothing of what comes next"); }

std::vector<uint64_t> max_bytes_of(RankRequest::Kind kind, size_t count) {
  return std::vector<uint64_t>(count, kind == RankRequest::Kind::kNotes ? kMaxNoteBytes : kMaxRecordBytes);
}

}  // namespace

Buffer encode_rank_request(const RankRequest& request) {
  MessageFields out(kRankRequest);
  out.put(request.kind);
  out.put(static_cast<uint32_t>(request.rank));
  out.put(request.run);
  out.put(static_cast<uint32_t>(request.items.size()));
  for (const RankItem& item : request.items) {
    out.put(static_cast<uint32_t>(item.partition));
    out.put(item.number);
  }
  return out.done();
}

Result<RankRequest> parse_rank_request(std::span<const uint8_t> bytes) {
  FOREBAY_ASSIGN(const std::string_view fields, read_fields(bytes, kRankRequest));
  ByteReader in(fields);
  const auto kind = in.take<uint8_t>();
  const auto rank = in.take<uint32_t>();
  if (kind > static_cast<uint8_t>(RankRequest::Kind::kLogRecords) || rank > INT_MAX) return no_request();
  RankRequest request{static_cast<RankRequest::Kind>(kind), static_cast<int>(rank), in.take<uint64_t>()};
  // Memory grows with the bytes that are there, not with the count in the message.
  for (auto count = in.take<uint32_t>(); count > 0 && in.ok(); --count) {
    const size_t partition = in.take<uint32_t>();
    request.items.push_back({partition, in.take<uint64_t>()});
  }
  FOREBAY_RETURN_IF_ERROR(check_all_read(in));
  const bool one = request.items.size() == 1;
  if (request.items.size() > kMaxRankItems || (request.kind == RankRequest::Kind::kDecision && !one))
    return no_request();
  return request;
}

Buffer encode_leader_response(const LeaderResponse& response) {
  MessageFields out(kLeaderResponse);
  out.put(response.kind);
  out.put(response.run);
  out.put(static_cast<uint32_t>(response.after.size()));
  for (const std::string& offset : response.after) out.put_text(offset);
  if (response.kind == LeaderResponse::Kind::kDecision) out.put_text(response.decision.to_json());
  return out.done();
}

Status check_leader_response(std::span<const uint8_t> bytes) { return read_fields(bytes, kLeaderResponse).status(); }

Result<LeaderResponse> parse_leader_response(std::span<const uint8_t> bytes, size_t partitions) {
  using Kind = LeaderResponse::Kind;
  FOREBAY_ASSIGN(const std::string_view fields, read_fields(bytes, kLeaderResponse));
  ByteReader in(fields);
  const auto kind = in.take<uint8_t>();
  if (kind > static_cast<uint8_t>(Kind::kDecision)) return no_leader_response();
  LeaderResponse response{static_cast<Kind>(kind), in.take<uint64_t>()};
  for (auto count = in.take<uint32_t>(); count > 0 && in.ok(); --count) response.after.push_back(in.take_text());
  const std::string decision = response.kind == Kind::kDecision ? in.take_text() : "";
  FOREBAY_RETURN_IF_ERROR(check_all_read(in));
  if (response.after.size() != (response.kind == Kind::kBeginning ? partitions : 0)) return no_leader_response();
  if (response.kind != Kind::kDecision) return response;
  Result<Decision> parsed = Decision::from_json(decision, partitions);
  if (!parsed.ok()) return corrupt(parsed.status().message());
  response.decision = *std::move(parsed);
  return response;
}

Response encode_rank_items(RankRequest::Kind kind, std::vector<FoundItem> found) {
  const std::vector<uint64_t> most = max_bytes_of(kind, found.size());
  return encode_items(kRankItems, most, std::move(found));
}

Result<std::vector<ResponseItem>> parse_rank_items(RankRequest::Kind kind, size_t count, const Buffer& response) {
  return parse_items(kRankItems, max_bytes_of(kind, count), response);
}

uint64_t max_rank_items_bytes(RankRequest::Kind kind, size_t count) {
  return max_items_bytes(max_bytes_of(kind, count));
}

}  // namespace forebay
