#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "cluster/items.h"
#include "cluster/transport.h"

namespace forebay {

/// Name of the service by which a host serves its cache entries.
inline constexpr std::string_view kEntryServiceName = "entries";
/// Maximum number of entries in one request.
inline constexpr size_t kMostEntries = 1024;

/// A cache entry, or a sample's version, that a host requests from another.
struct EntryRequest {
  enum class Kind : uint8_t {
    kEntry,    ///< `key` is the entry's key
    kVersion,  ///< `key` is the name of sample `element`; the answer is eight bytes
  };
  Hash128 key;
  uint64_t most_bytes = 0;              ///< a larger entry is not sent; the answer gives its size
  std::optional<int64_t> element = {};  ///< sample or chunk that the entry belongs to, if known
  Kind kind = Kind::kEntry;
  friend bool operator==(const EntryRequest&, const EntryRequest&) = default;
};

/// Encodes a request for at most kMostEntries entries.
Buffer encode_entry_request(std::span<const EntryRequest> wanted);
/// Parses a request. Bytes that encode_entry_request() cannot produce are Corrupt. Allocates memory
/// only for the entries that the request contains.
Result<std::vector<EntryRequest>> parse_entry_request(std::span<const uint8_t> bytes);
Response encode_entry_response(std::span<const EntryRequest> wanted, std::vector<FoundItem> found);
/// Returns one item for each wanted entry, in order. Errors are those of parse_items().
Result<std::vector<ResponseItem>> parse_entry_response(std::span<const EntryRequest> wanted, const Buffer& response);
/// Returns the size of the longest valid response.
uint64_t max_entry_response_bytes(std::span<const EntryRequest> wanted);

/// The cache entries that a host serves to the others of its job. The transport's threads call it
/// and may wait for a disk in it. Arguments come from other hosts unchecked: keys may be any, and
/// element numbers any that are not negative.
class EntrySource {
 public:
  virtual ~EntrySource() = default;
  /// Returns the bytes of the entry. They must not change while the buffer lives.
  virtual std::optional<Buffer> entry(const Hash128& key) = 0;
  /// Returns the version of the sample if this host has learned one and `name` is that sample's
  /// name.
  virtual std::optional<uint64_t> version(const Hash128& /*name*/, int64_t /*sample*/) { return std::nullopt; }
  /// If this host's plan will compute and cache results for the element, returns how much work
  /// comes before it. The number falls over time. Must not wait.
  virtual std::optional<uint64_t> coming(int64_t /*element*/) { return std::nullopt; }
};

/// Serves an EntrySource.
class EntryService final : public Service {
 public:
  explicit EntryService(std::shared_ptr<EntrySource> source) : source_(std::move(source)) {}
  Result<Response> answer(std::span<const uint8_t> request) override;

 private:
  FoundItem find(const EntryRequest& wanted) const;

  const std::shared_ptr<EntrySource> source_;
};

}  // namespace forebay
