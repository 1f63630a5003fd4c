#include "cluster/entry_service.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr std::string_view kEntryRequest = "fbentrq1", kEntryResponse = "fbentrs1";
constexpr uint64_t kEntryRequestBytes = 8 + 8 + 8 + 1 + 8 + 1;

std::vector<uint64_t> max_of_entries(std::span<const EntryRequest> wanted) {
  std::vector<uint64_t> most;
  most.reserve(wanted.size());
  for (const EntryRequest& each : wanted) most.push_back(each.most_bytes);
  return most;
}

}  // namespace

Buffer encode_entry_request(std::span<const EntryRequest> wanted) {
  MessageFields out(kEntryRequest);
  out.reserve(kEntryRequestBytes * wanted.size());
  for (const EntryRequest& each : wanted)
    out.put_all(each.key.high, each.key.low, each.most_bytes, uint8_t{each.element.has_value()},
                each.element.value_or(0), each.kind);
  return out.done();
}

Result<std::vector<EntryRequest>> parse_entry_request(std::span<const uint8_t> bytes) {
  FOREBAY_ASSIGN(const std::string_view fields, read_fields(bytes, kEntryRequest));
  const size_t count = fields.size() / kEntryRequestBytes;
  if (count > kMostEntries)
    return corrupt(fmt::format("expected a request for at most {} entries, found {}", kMostEntries, count));
  ByteReader in(fields);
  std::vector<EntryRequest> wanted(count);
  for (EntryRequest& each : wanted) {
    each.key.high = in.take<uint64_t>();
    each.key.low = in.take<uint64_t>();
    each.most_bytes = in.take<uint64_t>();
    const auto has_element = in.take<uint8_t>();
    const auto element = in.take<int64_t>();
    const auto kind = in.take<uint8_t>();
    if (has_element > 1 || element < 0 || (has_element == 0 && element != 0) ||
        kind > static_cast<uint8_t>(EntryRequest::Kind::kVersion))
      return corrupt("a request has a malformed entry");
    if (has_element == 1) each.element = element;
    each.kind = static_cast<EntryRequest::Kind>(kind);
  }
  FOREBAY_RETURN_IF_ERROR(check_all_read(in));
  return wanted;
}

Response encode_entry_response(std::span<const EntryRequest> wanted, std::vector<FoundItem> found) {
  return encode_items(kEntryResponse, max_of_entries(wanted), std::move(found));
}

Result<std::vector<ResponseItem>> parse_entry_response(std::span<const EntryRequest> wanted, const Buffer& response) {
  return parse_items(kEntryResponse, max_of_entries(wanted), response);
}

uint64_t max_entry_response_bytes(std::span<const EntryRequest> wanted) {
  return max_items_bytes(max_of_entries(wanted));
}

Result<Response> EntryService::answer(std::span<const uint8_t> request) {
  FOREBAY_ASSIGN(const std::vector<EntryRequest> wanted, parse_entry_request(request));
  std::vector<FoundItem> found;
  found.reserve(wanted.size());
  for (const EntryRequest& each : wanted) found.push_back(find(each));
  return encode_entry_response(wanted, std::move(found));
}

FoundItem EntryService::find(const EntryRequest& wanted) const {
  FoundItem found;
  // coming() goes first: an entry that is made between the two calls is then found by the second.
  if (wanted.element) found.coming = source_->coming(*wanted.element);
  if (wanted.kind == EntryRequest::Kind::kEntry) {
    found.body = source_->entry(wanted.key);
  } else if (const std::optional<uint64_t> version =
                 wanted.element ? source_->version(wanted.key, *wanted.element) : std::nullopt) {
    found.body = Buffer::allocate(sizeof *version);
    std::memcpy(found.body->data(), &*version, sizeof *version);
  }
  return found;
}

}  // namespace forebay
