#include "materialize/s3_location.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "format/files/imitate_link.h"
#include "format/files/remote_stores.h"
#include "format/materialized/manifest.h"
#include "store/s3/s3_store.h"
#include "store/s3/s3_writer.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

constexpr S3UploadOptions kInParts{};

class S3Location final : public OutputLocation {
 public:
  S3Location(std::shared_ptr<S3Client> client, std::string prefix, std::stop_token stop)
      : writer_(std::move(client), kInParts), prefix_(std::move(prefix)), stop_(std::move(stop)) {}

  std::string name() const override { return writer_.name(prefix_); }
  std::string name_of(const std::string& file) const override { return writer_.name(key_of(file)); }
  Status make() const override { return {}; }  // buckets have no folders

  Result<std::vector<std::optional<std::string>>> read(std::span<const std::string> files) const override {
    FOREBAY_ASSIGN(const std::vector<std::optional<Buffer>> read, writer_.get_all(keys_of(files), stop_));
    std::vector<std::optional<std::string>> found;
    for (const std::optional<Buffer>& bytes : read)
      found.push_back(bytes ? std::optional(std::string(text_view(*bytes))) : std::nullopt);
    return found;
  }
  Result<std::vector<std::optional<uint64_t>>> sizes(std::span<const std::string> files) const override {
    return writer_.sizes(keys_of(files), stop_);
  }

  Status write(const std::string& file, const BufferChain& bytes) const override {
    const std::string key = key_of(file);
    // Smaller objects take one request, which leaves no parts.
    if (bytes.size() > kInParts.part_bytes) abort_uploads([&](const std::string& found) { return found == key; }, key);
    return with_retry_hint(writer_.put(key, bytes.together(), stop_));
  }
  Status write_new(const std::string& file, const BufferChain& bytes) const override {
    return with_retry_hint(writer_.put_new(key_of(file), bytes.together(), stop_).status());
  }

  Status erase(std::span<const std::string> files) const override { return writer_.erase(keys_of(files), stop_); }

  void clear() const override {
    const std::string unfinished = key_of(fmt::format("{}/", kUnfinishedFolder));
    std::vector<std::string> keys;
    const Result<std::vector<ObjectInfo>> found = writer_.list(unfinished, stop_);
    if (found.ok())
      for (const ObjectInfo& object : *found) keys.push_back(object.key);
    warn_once(found.ok() ? writer_.erase(keys, stop_) : found.status());
    abort_uploads([this](const std::string& key) { return is_ours(key); }, prefix_);
  }

 private:
  std::string key_of(const std::string& file) const { return prefix_ + file; }
  std::vector<std::string> keys_of(std::span<const std::string> files) const {
    std::vector<std::string> keys;
    for (const std::string& file : files) keys.push_back(key_of(file));
    return keys;
  }

  static Status with_retry_hint(Status status) {
    if (status.code() != Code::kUnavailable) return status;
    return Status(Code::kUnavailable, fmt::format("cannot be written: {}; finished files stay; run the same "
                                                  "command again to continue",
                                                  status.message()))
        .with_key(status.key());
  }

  // Whether a key is "part-00017.arrow", the same below "_index/" and "_identities/", or the
  // manifest.
  bool is_ours(std::string_view key) const {
    constexpr std::string_view kShard = "part-";
    key.remove_prefix(std::min(prefix_.size(), key.size()));
    if (key == kManifestName) return true;
    for (const std::string_view beside : {"_index/part-", "_identities/part-"})
      if (key.starts_with(beside)) key.remove_prefix(beside.size() - kShard.size());
    if (!key.starts_with(kShard)) return false;
    key.remove_prefix(kShard.size());
    const size_t digits = std::min(key.find_first_not_of("0123456789"), key.size());
    // At least five digits, as {:05} writes them; more from 100,000 shards on.
    return digits >= 5 && digits < key.size() && key[digits] == '.';
  }

  // Aborts incomplete uploads of killed writers. It may also abort one of a live writer, which
  // starts again.
  template <typename Which>
  void abort_uploads(const Which& which, const std::string& below) const {
    const Result<std::vector<S3PartialUpload>> uploads = writer_.unfinished(below, stop_);
    Status given_up = uploads.status();
    if (uploads.ok())
      for (const S3PartialUpload& upload : *uploads)
        if (which(upload.key) && given_up.ok()) given_up = writer_.abort(upload, stop_);
    warn_once(given_up);
  }

  // Warns once: credentials without the permission fail alike for every shard.
  void warn_once(const Status& status) const {
    if (status.ok() || status.code() == Code::kCancelled || warned_.exchange(true)) return;
    log_warning(
        fmt::format("{}: remains of killed writers cannot be listed or deleted ({})", name(), status.message()));
  }

  mutable S3Writer writer_;
  const std::string prefix_;
  const std::stop_token stop_;
  mutable std::atomic<bool> warned_{false};
};

}  // namespace

Result<std::shared_ptr<OutputLocation>> s3_location(const UrlPlace& location, const StorageOptions& options,
                                                    std::stop_token stop) {
  StorageOptions own = options;
  std::erase_if(own, [](const auto& option) { return is_link_option(option.first); });
  FOREBAY_ASSIGN(const std::shared_ptr<Store> opened,
                 open_s3_store(location.store.substr(std::string_view("s3://").size()), own));
  const auto store = std::dynamic_pointer_cast<S3Store>(opened);
  std::string prefix = location.path;
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  return std::shared_ptr<OutputLocation>(
      std::make_shared<S3Location>(store->client(), std::move(prefix), std::move(stop)));
}

}  // namespace forebay
