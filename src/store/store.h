#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/read_request.h"
#include "base/reclaimable_memory.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

class RequestSlots;
struct StoreStats;

/// Returns ObjectInfo::version of an ETag; 0 for a missing or weak one.
uint64_t version_of_etag(std::string_view etag);

/// Name, size and version of an object.
struct ObjectInfo {
  std::string key;
  uint64_t size = 0;
  /// Changes if the object changes: a hash of its ETag, or of a file's times, inode and device. 0
  /// if the store does not know.
  uint64_t version = 0;
  /// True for a symbolic link whose target does not exist. It is listed, and reading it is
  /// NotFound. It may have been meant for a folder.
  bool dead_link = false;
};

struct ListRequest {
  /// Only keys below this folder ("" for all). Ends in '/' unless empty.
  std::string prefix;
  /// Continuation of the previous page; empty for the first page.
  std::string continuation;
  uint32_t max_keys = 10'000;
  /// Only names after `after`, up to and including `until`, in byte order; empty for no bound.
  /// Stores obey them if their ListingTraits say so. Bounds have no '/' after the prefix. From page
  /// to page `until` may only decrease.
  std::string after = {};
  std::string until = {};
};

/// How a store should be listed.
struct ListingTraits {
  /// Pages come in byte order, and `after` and `until` are obeyed: parts of a folder may be listed
  /// in parallel.
  bool in_ranges = false;
  /// Number of listings that it serves well at a time.
  size_t at_once = 32;
  /// Folder in which walks may store where parts of large folders begin; empty for none.
  std::string boundaries_folder = {};
};

/// One folder level: the objects in it and the folders directly below it, so that callers may walk
/// in parallel. In no particular order.
struct ListPage {
  std::vector<ObjectInfo> objects;
  std::vector<std::string> prefixes;
  uint64_t hidden = 0;  ///< entries left out because their name begins with a dot
  /// Entries left out because they link to a folder that contains them, or to themselves.
  std::vector<std::string> circular;
  std::string continuation;  ///< empty on the last page
};

/// Names → bytes. Every method may be called from any thread.
///
/// Asynchronous calls answer exactly once, from any thread (perhaps before the call returns), even
/// after a stop was requested (kCancelled), and before the destructor ends. The answer must not
/// block.
class Store {
 public:
  using ReadDone = std::function<void(Result<Buffer>)>;
  using ListDone = std::function<void(Result<ListPage>)>;
  using StatDone = std::function<void(Result<ObjectInfo>)>;

  virtual ~Store() = default;

  virtual void read(const ReadRequest& request, std::stop_token stop, ReadDone done) = 0;
  /// Returns true if each size costs a request, so that a missing object is best found by reading
  /// it.
  virtual bool remote() const { return false; }
  /// Returns true if read_now() is worth trying on the thread that needs the bytes.
  virtual bool reads_now() const { return false; }
  /// Answers at once if that needs no waiting (page cache, memory). Otherwise returns nothing, and
  /// the caller uses read().
  virtual std::optional<Result<Buffer>> read_now(const ReadRequest&) { return std::nullopt; }
  virtual void list(const ListRequest& request, std::stop_token stop, ListDone done) = 0;
  virtual ListingTraits listing() const { return {}; }
  virtual void stat(const std::string& key, std::stop_token stop, StatDone done) = 0;

  /// Returns the object that finds how many requests this store serves best at once; null if the
  /// number does not matter (local files, memory).
  virtual std::shared_ptr<RequestSlots> slots() { return nullptr; }

  /// Returns an object that a reader holds while it reads. The store notes versions, so that an
  /// object that changes during a run is an error. When the last reader ends, they are forgotten,
  /// and a later reader may find new versions. Null if the store notes none.
  virtual std::shared_ptr<void> begin_reading() { return nullptr; }

  /// Returns the idle memory that is retained for later reads, perhaps shared with other stores;
  /// null if there is none.
  virtual std::shared_ptr<ReclaimableMemory> idle_memory() const { return nullptr; }

  /// How the object is called in messages: "photos/a.jpg", "s3://bucket/a.jpg".
  virtual std::string display_name(const std::string& key) const = 0;
  /// Counters since the store was made; the name is left empty.
  virtual StoreStats stats() const = 0;
};

/// Call the store and wait for the answer. For opening a data set; must not be called on an engine
/// thread.
Result<Buffer> read_wait(Store& store, const ReadRequest& request, std::stop_token stop);
Result<ListPage> list_wait(Store& store, const ListRequest& request, std::stop_token stop);
Result<ObjectInfo> stat_wait(Store& store, const std::string& key, std::stop_token stop);

}  // namespace forebay
