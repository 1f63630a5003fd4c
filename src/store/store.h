#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/kept_bytes.h"
#include "base/read_request.h"
#include "forebay/buffer.h"
#include "forebay/ledger.h"
#include "forebay/result.h"

namespace forebay {

class RequestSlots;

/// ObjectInfo::version of an ETag; 0 of one that is missing or weak.
uint64_t version_of_etag(std::string_view etag);

struct ObjectInfo {
  std::string key;
  uint64_t size = 0;
  /// Changes when the object does: of its ETag, or of a file's times, inode and device. 0 where the store does not tell.
  uint64_t version = 0;
  /// Listed, but a symbolic link whose target does not exist: reading it is NotFound. It may have stood for a folder.
  bool dead_link = false;
};

struct ListRequest {
  /// Only keys below this folder ("" for all). Ends in '/' unless empty.
  std::string prefix;
  /// Where the previous page ended; empty for the first page.
  std::string continuation;
  uint32_t max_keys = 10'000;
  /// Only names after this one and up to (and with) that one, in byte order; empty for no bound. Obeyed by stores whose
  /// ListingTraits say so; bounds have no '/' behind the prefix. From page to page `until` may only come nearer.
  std::string after = {};
  std::string until = {};
};

/// How a store wants to be listed.
struct ListingTraits {
  bool in_ranges =
      false;  ///< pages come in byte order, and `after` and `until` are obeyed: a folder may be listed in parts
  size_t at_once = 32;                 ///< listings in flight that it bears
  std::string boundaries_folder = {};  ///< where walks may keep where the parts of large folders begin; empty: nowhere
};

/// One folder level: objects directly in it and the folders below it, so that callers may walk in parallel. In no
/// particular order.
struct ListPage {
  std::vector<ObjectInfo> objects;
  std::vector<std::string> prefixes;
  uint64_t hidden = 0;                ///< entries left out because their name begins with a dot
  std::vector<std::string> circular;  ///< left out: links to a folder that they lie in, or to themselves
  std::string continuation;           ///< empty on the last page
};

/// Names → bytes. Every method may be called from any thread.
///
/// Asynchronous calls answer exactly once, from any thread (perhaps before the call returns), also after a stop was
/// requested (kCancelled) and before the destructor ends. The answer must not block.
class Store {
 public:
  using ReadDone = std::function<void(Result<Buffer>)>;
  using ListDone = std::function<void(Result<ListPage>)>;
  using StatDone = std::function<void(Result<ObjectInfo>)>;

  virtual ~Store() = default;

  virtual void read(const ReadRequest& request, std::stop_token stop, ReadDone done) = 0;
  /// True where sizes cost a request each and a missing object is best found when it is read.
  virtual bool remote() const { return false; }
  /// True where read_now() is worth trying on the thread that needs the bytes.
  virtual bool reads_now() const { return false; }
  /// Answers at once when that needs no waiting (page cache, memory); nothing otherwise: then call read().
  virtual std::optional<Result<Buffer>> read_now(const ReadRequest&) { return std::nullopt; }
  virtual void list(const ListRequest& request, std::stop_token stop, ListDone done) = 0;
  virtual ListingTraits listing() const { return {}; }
  virtual void stat(const std::string& key, std::stop_token stop, StatDone done) = 0;

  /// Finds how many requests this store serves best at once; null where it makes no difference (local files, memory).
  virtual std::shared_ptr<RequestSlots> slots() { return nullptr; }

  /// Somebody reads, for as long as that lives. When the last one has ended, whatever the store has noted of versions, so that an
  /// object that changes under a run is an error, is forgotten: who begins then may find others. Null where nothing is noted.
  virtual std::shared_ptr<void> begin_reading() { return nullptr; }

  /// The memory that it keeps for later reads, other stores perhaps with it; null where it keeps none.
  virtual std::shared_ptr<KeptBytes> idle_memory() const { return nullptr; }

  /// How the object is called in messages: "photos/a.jpg", "s3://bucket/a.jpg".
  virtual std::string display_name(const std::string& key) const = 0;
  /// Counters since the store was made; the name is left empty.
  virtual StoreStats stats() const = 0;
};

/// The same, waiting for the answer. For opening a data set, never on an engine thread.
Result<Buffer> read_wait(Store& store, const ReadRequest& request, std::stop_token stop);
Result<ListPage> list_wait(Store& store, const ListRequest& request, std::stop_token stop);
Result<ObjectInfo> stat_wait(Store& store, const std::string& key, std::stop_token stop);

}  // namespace forebay
