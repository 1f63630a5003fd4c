#include "cluster/items.h"

#include <utility>

#include <fmt/format.h>

#include "base/hash.h"

namespace forebay {

namespace {

using ItemState = ResponseItem::State;

constexpr uint64_t kCountBytes = 4, kItemBytes = 1 + 8 + 8;

uint64_t body_checksum(const Buffer& body) { return hash128(body.data(), body.size()).low; }

}  // namespace

Response encode_items(std::string_view kind, std::span<const uint64_t> most_bytes, std::vector<FoundItem> found) {
  MessageFields out(kind);
  out.reserve(kCountBytes + kItemBytes * found.size());
  out.put(static_cast<uint32_t>(found.size()));
  std::vector<Buffer> bodies;
  bodies.reserve(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].body) {
      out.put_all(found[i].coming ? ItemState::kComing : ItemState::kAbsent, found[i].coming.value_or(0), uint64_t{0});
    } else if (found[i].body->size() > most_bytes[i]) {
      out.put_all(ItemState::kTooLarge, uint64_t{found[i].body->size()}, uint64_t{0});
    } else {
      out.put_all(ItemState::kHere, uint64_t{found[i].body->size()}, body_checksum(*found[i].body));
      bodies.push_back(*std::move(found[i].body));
    }
  }
  return out.done_with(std::move(bodies));
}

Result<std::vector<ResponseItem>> parse_items(std::string_view kind, std::span<const uint64_t> most_bytes,
                                              const Buffer& response) {
  FOREBAY_ASSIGN(const ReadMessage message, read_message(response.span(), kind));
  ByteReader in(message.fields);
  const auto count = in.take<uint32_t>();
  if (count != most_bytes.size())
    return corrupt(fmt::format("expected an answer about {} items, found {}", most_bytes.size(), count));
  if (in.left() != kItemBytes * count) return corrupt("an answer ends inside its items");
  uint64_t at = message.bodies_at;
  if (response.size() < at) return corrupt("an answer ends inside its fields");
  std::vector<ResponseItem> items(count);
  for (size_t i = 0; i < count; ++i) {
    ResponseItem& item = items[i];
    const auto state = in.take<uint8_t>();
    item.bytes = in.take<uint64_t>();
    const auto checksum = in.take<uint64_t>();
    if (state > static_cast<uint8_t>(ItemState::kComing)) return corrupt("an item of an answer has an unknown state");
    item.state = static_cast<ItemState>(state);
    if (item.state != ItemState::kHere) continue;
    if (item.bytes > most_bytes[i]) return corrupt("an item of an answer has more bytes than were asked for");
    // The first condition keeps body_room() from overflowing.
    if (item.bytes > response.size() - at || body_room(item.bytes) > response.size() - at)
      return corrupt("an answer ends inside a body");
    item.body = response.slice(at, item.bytes);
    at += body_room(item.bytes);
    if (body_checksum(item.body) == checksum) continue;
    item.state = ItemState::kDamaged;
    item.body = Buffer();
  }
  if (at != response.size()) return corrupt("an answer has bytes behind its bodies");
  return items;
}

uint64_t max_items_bytes(std::span<const uint64_t> most_bytes) {
  return max_message_bytes(kCountBytes + kItemBytes * most_bytes.size(), most_bytes);
}

}  // namespace forebay
