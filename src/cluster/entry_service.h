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

/// The name under which a host serves its cache entries.
inline constexpr std::string_view kEntryServiceName = "entries";
/// The most entries of one request.
inline constexpr size_t kMostEntries = 1024;

/// A cache entry that another host is asked for, or what it has learned of a sample's version.
struct WantedEntry {
  enum class Kind : uint8_t {
    kEntry,    ///< `key` is the entry's key
    kVersion,  ///< `key` is the name of sample `element`; the answer is eight bytes
  };
  Hash128 key;
  uint64_t most_bytes = 0;              ///< a larger one is not sent: the answer is its size
  std::optional<int64_t> element = {};  ///< the sample or chunk that the entry is made of, where that is known
  Kind kind = Kind::kEntry;
  friend bool operator==(const WantedEntry&, const WantedEntry&) = default;
};

/// At most kMostEntries.
Buffer encode_entry_request(std::span<const WantedEntry> wanted);
/// Corrupt for what encode_entry_request() does not make. Takes memory for the entries that are there.
Result<std::vector<WantedEntry>> parse_entry_request(std::span<const uint8_t> bytes);
Response encode_entry_response(std::span<const WantedEntry> wanted, std::vector<FoundItem> found);
/// One item for each wanted entry, in order. Errors: of parse_items().
Result<std::vector<ResponseItem>> parse_entry_response(std::span<const WantedEntry> wanted, const Buffer& response);
/// The bytes of the longest right response.
uint64_t most_entry_response_bytes(std::span<const WantedEntry> wanted);

/// The cache entries that a host lends to the others of its job. Called from the transport's threads, which
/// may wait for a disk here. All that they pass is a stranger's
/// word: any number that is not negative, any key.
class EntrySource {
 public:
  virtual ~EntrySource() = default;
  /// The bytes of that entry. They must not change while the buffer lives.
  virtual std::optional<Buffer> entry(const Hash128& key) = 0;
  /// The version of that sample, if this host has learned one and that is the sample's name.
  virtual std::optional<uint64_t> version(const Hash128& /*name*/, int64_t /*sample*/) { return std::nullopt; }
  /// How much this host does before it makes and keeps what is made of that element, which it will do
  /// without having been asked to. The number falls. Must not wait.
  virtual std::optional<uint64_t> coming(int64_t /*element*/) { return std::nullopt; }
};

/// Serves an EntrySource.
class EntryService final : public Service {
 public:
  explicit EntryService(std::shared_ptr<EntrySource> source) : source_(std::move(source)) {}
  Result<Response> answer(std::span<const uint8_t> request) override;

 private:
  FoundItem find(const WantedEntry& wanted) const;

  const std::shared_ptr<EntrySource> source_;
};

}  // namespace forebay
