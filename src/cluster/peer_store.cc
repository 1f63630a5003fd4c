#include "cluster/peer_store.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cluster/entry_service.h"
#include "cluster/peer_client.h"
#include "cluster/peer_health.h"
#include "cluster/peer_pace.h"
#include "forebay/stats/store.h"
#include "store/calls.h"

namespace forebay {

namespace {

/// Limit for entries whose size is not known.
constexpr uint64_t kMostBytes = uint64_t{64} << 20;

constexpr std::string_view kVersionPrefix = "version ";

// Parses a key of entry_key() or version_key().
std::optional<EntryRequest> parse_entry_key(std::string_view text) {
  EntryRequest request;
  if (text.starts_with(kVersionPrefix)) {
    request.kind = EntryRequest::Kind::kVersion;
    text.remove_prefix(kVersionPrefix.size());
  }
  const size_t at = text.find('@');
  if (!Hash128::parse(text.substr(0, at), &request.key)) return std::nullopt;
  if (at == std::string_view::npos) {
    if (request.kind == EntryRequest::Kind::kEntry) return request;
    return std::nullopt;  // a version is that of a sample
  }
  const char* const end = text.data() + text.size();
  const auto [parsed_end, error] = std::from_chars(text.data() + at + 1, end, request.element.emplace());
  // No digits and a number that overflows are errors, too, and leave the element at 0.
  if (error != std::errc() || parsed_end != end) return std::nullopt;
  return request;
}

class ClientStore final : public PeerStore {
 public:
  ClientStore(std::shared_ptr<Transport> transport, PeerHost host, PeerStoreOptions options)
      : name_("peer " + host.address), transport_(std::move(transport)),
        client_(std::make_shared<PeerClient>(*transport_, std::move(host), options)) {}
  ~ClientStore() override { client_->close(); }

  bool may_ask() const override { return client_->may_ask(); }
  void report_mismatch() override {
    client_->report_failure("it sent bytes that were not what was asked for", PeerHealth::Contact::kReached);
  }
  bool remote() const override { return true; }

  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    PeerRead read;
    read.call = client_->calls.begin<Buffer>(display_name(request.key), std::move(stop), std::move(done));
    if (read.call->answered()) return;
    std::optional<EntryRequest> parsed = parse_entry_key(request.key);
    if (!parsed) {
      read.call->answer(Buffer());
      return;
    }
    read.request = *parsed;
    read.request.most_bytes =
        std::min(request.expected_size.value_or(request.set_aside_bytes.value_or(kMostBytes)), kMostBytes);
    read.reports_size = request.set_aside_bytes && !request.expected_size;
    client_->read(std::move(read));
  }
  void list(const ListRequest&, std::stop_token, ListDone done) override {
    done(unsupported("peers cannot be listed").with_key(name_));
  }
  void stat(const std::string& key, std::stop_token, StatDone done) override {
    done(unsupported("peers tell no sizes").with_key(display_name(key)));
  }
  std::string display_name(const std::string& key) const override { return name_ + "/" + key; }
  StoreStats stats() const override { return client_->calls.stats(); }

 private:
  const std::string name_;
  const std::shared_ptr<Transport> transport_;
  const std::shared_ptr<PeerClient> client_;
};

}  // namespace

std::string entry_key(const Hash128& key, int64_t element) {
  return element < 0 ? key.to_string() : fmt::format("{}@{}", key.to_string(), element);
}
std::string version_key(const Hash128& name, int64_t sample) {
  return fmt::format("{}{}@{}", kVersionPrefix, name.to_string(), sample);
}

std::shared_ptr<PeerStore> peer_store(std::shared_ptr<Transport> transport, PeerHost host, PeerStoreOptions options) {
  return std::make_shared<ClientStore>(std::move(transport), std::move(host), options);
}

}  // namespace forebay
