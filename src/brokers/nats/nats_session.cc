#include "brokers/nats/nats_session.h"

#include <array>
#include <charconv>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "brokers/nats/nats_greeting.h"
#include "brokers/tls_refusal.h"
#include "stream/broker_url.h"
#include "stream/detached_call.h"

namespace forebay {

namespace {

constexpr int64_t kConnectMs = 4'000;
constexpr int64_t kRequestMs = 4'000;
constexpr int64_t kPingMs = 3'000;  ///< a server that does not answer two of them is gone
// The server removes a consumer after this time without requests, for example after a kill.
constexpr int64_t kInactiveNs = 30'000'000'000;
constexpr std::chrono::nanoseconds kExpires =
    std::chrono::seconds(2);               ///< a request without messages is answered after this
constexpr std::chrono::seconds kGrace{5};  ///< allowed delay of that answer
constexpr std::chrono::seconds kGreetingLimit{2};
constexpr auto kWhoAsksNats =
    " (see user and password in the URL, or in storage_options: user, password, token, credentials_file, nkey)";

/// Returns OpenSSL's error number from the library's message "… SSL handshake error: 10:certificate
/// has expired:depth=0:…".
std::optional<int> certificate_error_in(std::string_view words) {
  constexpr std::string_view kBefore = "SSL handshake error: ";
  const size_t at = words.find(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  words.remove_prefix(at + kBefore.size());
  int number = 0;
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), number);
  if (error != std::errc() || end == words.data() + words.size() || *end != ':') return std::nullopt;
  return number;
}

std::string host_names(const NatsAddress& address) {
  std::string names;
  for (const HostPort& host : address.servers) names += (names.empty() ? "" : ",") + host.host;
  return names;
}

/// Returns a refusal of TLS, which a retry cannot change; nothing for other errors.
std::optional<std::string> tls_refusal_of_nats(natsStatus code, std::string_view words, const NatsAddress& address) {
  if (code == NATS_SECURE_CONNECTION_WANTED) return "the server speaks no TLS, and the URL or storage_options want it";
  if (code != NATS_SSL_ERROR) return std::nullopt;
  if (const auto error = certificate_error_in(words)) {
    const TlsOptions& tls = address.tls;
    return certificate_refusal(*error, tls.server_name.empty() ? host_names(address) : tls.server_name);
  }
  if (words.find("alert") == std::string_view::npos) return std::nullopt;
  return fmt::format("the server does not take us ({}): see certificate_file and key_file", words);
}

/// Converts the error of a call of the library.
Status status_of_nats(natsStatus code, jsErrCode js_code, const NatsAddress& address, const char* what) {
  // The library stores the message for each thread: this must run on the thread of the failed call.
  const char* words = nats_GetLastError(nullptr);
  if (words == nullptr || *words == '\0') words = natsStatus_GetText(code);
  std::string text =
      fmt::format("{}: {}", what, without_secret(words, address.password.empty() ? address.user : address.password));
  if (code == NATS_CONNECTION_AUTH_FAILED) text += kWhoAsksNats;
  if (auto refusal = tls_refusal_of_nats(code, words, address)) return invalid_argument(*std::move(refusal));
  if (js_code == JSStreamNotFoundErr) return not_found(fmt::format("there is no stream '{}'", address.stream));
  // JetStream's own errors (10000 and up) are refusals, except transient ones: a timeout,
  // insufficient resources, a lost consumer.
  if (js_code == JSNotEnabledErr || js_code == JSNotEnabledForAccountErr || code == NATS_CONNECTION_AUTH_FAILED ||
      code == NATS_NOT_PERMITTED || code == NATS_INVALID_ARG ||
      (js_code >= 10000 && code != NATS_TIMEOUT && js_code != JSInsufficientResourcesErr &&
       js_code != JSConsumerNotFoundErr))
    return invalid_argument(text);
  return unavailable(text);
}

struct DestroyOptions {
  void operator()(natsOptions* options) const { natsOptions_Destroy(options); }
};

natsStatus set_nats_servers(natsOptions* options, const NatsAddress& address) {
  std::vector<std::string> urls;
  // The URLs omit the user, which is set separately, so that no URL with a password is in the
  // library's messages.
  for (const HostPort& host : address.servers) urls.push_back("nats://" + host.to_string());
  std::vector<const char*> servers;
  for (const std::string& url : urls) servers.push_back(url.c_str());
  return natsOptions_SetServers(options, servers.data(), static_cast<int>(servers.size()));
}

natsStatus set_nats_user(natsOptions* options, const NatsAddress& address) {
  if (!address.credentials_file.empty())
    return natsOptions_SetUserCredentialsFromFiles(options, address.credentials_file.c_str(), nullptr);
  if (!address.nkey.empty())
    return natsOptions_SetNKeyFromSeed(options, address.nkey.c_str(), address.nkey_seed_file.c_str());
  if (!address.password.empty())
    return natsOptions_SetUserInfo(options, address.user.c_str(), address.password.c_str());
  return address.user.empty() ? NATS_OK : natsOptions_SetToken(options, address.user.c_str());
}

// A server that requires TLS gets it in any case, and its certificate is verified.
natsStatus set_nats_tls(natsOptions* options, const NatsAddress& address) {
  const TlsOptions& tls = address.tls;
  natsStatus code = address.secure ? natsOptions_SetSecure(options, true) : NATS_OK;
  if (code == NATS_OK && !tls.ca_file.empty())
    code = natsOptions_LoadCATrustedCertificates(options, tls.ca_file.c_str());
  if (code == NATS_OK && !tls.certificate_file.empty())
    code = natsOptions_LoadCertificatesChain(options, tls.certificate_file.c_str(), tls.key_file.c_str());
  if (code == NATS_OK && !tls.server_name.empty())
    code = natsOptions_SetExpectedHostname(options, tls.server_name.c_str());
  return code;
}

std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

}  // namespace

// Parses "$JS.ACK.STREAM.CONSUMER.delivered.stream sequence.consumer sequence.time.pending". A
// domain and an account may follow "$JS.ACK", and more may follow at the end.
std::optional<NatsSequence> NatsSequence::of_reply(std::string_view subject) {
  std::array<std::string_view, 12> words;
  size_t count = 0;
  while (count < words.size() && !subject.empty()) {
    const size_t dot = std::min(subject.find('.'), subject.size());
    words[count++] = subject.substr(0, dot);
    subject.remove_prefix(std::min(dot + 1, subject.size()));
  }
  if (count < 9 || count == 10 || words[0] != "$JS" || words[1] != "ACK") return std::nullopt;
  const size_t at = count == 9 ? 5 : 7;
  const auto stream = number_in(words[at]), consumer = number_in(words[at + 1]);
  if (!stream || !consumer) return std::nullopt;
  return NatsSequence{*stream, *consumer};
}

struct NatsSession::Parts {
  explicit Parts(NatsAddress of) : address(std::move(of)) {}
  /// Takes seconds if the server does not answer.
  ~Parts() {
    // Destroyed in reverse order of creation. Each may be null if an earlier step failed.
    natsSubscription_Destroy(subscription);
    natsInbox_Destroy(inbox);
    if (!consumer.empty() && !natsConnection_IsClosed(connection))
      js_DeleteConsumer(stream_context, address.stream.c_str(), consumer.c_str(), nullptr, nullptr);
    jsCtx_Destroy(stream_context);
    natsConnection_Destroy(connection);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  Status connect() {
    natsOptions* made = nullptr;
    if (const natsStatus code = natsOptions_Create(&made); code != NATS_OK) return failed(code, {}, "connecting");
    const std::unique_ptr<natsOptions, DestroyOptions> options(made);
    natsStatus code = set_nats_servers(made, address);
    if (code == NATS_OK) code = set_nats_user(made, address);
    if (code == NATS_OK) code = set_nats_tls(made, address);
    if (code == NATS_OK) code = natsOptions_SetTimeout(made, kConnectMs);
    // A reconnect by the library could not be distinguished from lost messages (decision 43).
    if (code == NATS_OK) code = natsOptions_SetAllowReconnect(made, false);
    if (code == NATS_OK) code = natsOptions_SetPingInterval(made, kPingMs);
    if (code == NATS_OK) code = natsOptions_SetMaxPingsOut(made, 2);
    if (code == NATS_OK) code = natsOptions_SetName(made, "forebay");
    // The library's default handler writes to standard error.
    if (code == NATS_OK) code = natsOptions_SetErrorHandler(made, [](auto...) {}, nullptr);
    if (code == NATS_OK) code = natsConnection_Connect(&connection, made);
    if (code != NATS_OK) return not_connected(failed(code, {}, "connecting"));
    jsOptions js_options;
    jsOptions_Init(&js_options);
    js_options.Wait = kRequestMs;
    code = natsConnection_JetStream(&stream_context, connection, &js_options);
    return code == NATS_OK ? Status() : failed(code, {}, "JetStream");
  }

  Status not_connected(Status why) const {
    if (why.code() != Code::kUnavailable || !address.tls.certificate_file.empty()) return why;
    if (!wants_client_certificate(address, Clock::now() + kGreetingLimit)) return why;
    return invalid_argument(*alert_refusal(SSL_AD_CERTIFICATE_REQUIRED, false));
  }

  Result<NatsRange> ask_range() const {
    jsStreamInfo* info = nullptr;
    jsErrCode error{};
    const natsStatus code = js_GetStreamInfo(&info, stream_context, address.stream.c_str(), nullptr, &error);
    if (code != NATS_OK) return failed(code, error, "asking for the stream");
    const NatsRange found{info->State.FirstSeq, info->State.LastSeq};
    jsStreamInfo_Destroy(info);
    return found;
  }

  Status subscribe(uint64_t begin) {
    FOREBAY_ASSIGN(range, ask_range());
    jsConsumerConfig config;
    jsConsumerConfig_Init(&config);
    config.AckPolicy = js_AckNone;
    // If that number is gone, the consumer begins at the next message; range() reveals the gap.
    config.DeliverPolicy = js_DeliverByStartSequence;
    config.OptStartSeq = begin;
    config.InactiveThreshold = kInactiveNs;
    config.MemoryStorage = true;
    if (!address.subject.empty()) config.FilterSubject = address.subject.c_str();
    jsConsumerInfo* made = nullptr;
    jsErrCode error{};
    natsStatus code = js_AddConsumer(&made, stream_context, address.stream.c_str(), &config, nullptr, &error);
    if (code != NATS_OK) return failed(code, error, "making a consumer");
    consumer = made->Name;
    jsConsumerInfo_Destroy(made);
    code = natsInbox_Create(&inbox);
    if (code == NATS_OK) code = natsConnection_SubscribeSync(&subscription, connection, inbox);
    // Requests limit what arrives.
    if (code == NATS_OK) code = natsSubscription_SetPendingLimits(subscription, -1, -1);
    return code == NATS_OK ? Status() : failed(code, {}, "subscribing");
  }

  Status ask_for(int count);
  /// Handles one item from the server: a message, or the outcome of a request.
  Status handle(NatsMessage message, std::vector<NatsMessage>& out);

  Status failed(natsStatus code, jsErrCode error, const char* what) const {
    return status_of_nats(code, error, address, what);
  }

  const NatsAddress address;
  natsConnection* connection = nullptr;
  jsCtx* stream_context = nullptr;
  natsSubscription* subscription = nullptr;
  natsInbox* inbox = nullptr;
  std::string consumer;
  NatsRange range;
  int outstanding = 0;  ///< messages requested, and neither received nor refused
  /// When the server last sent anything, or was asked while nothing was outstanding.
  Clock::time_point last_heard;
};

Result<NatsSession> NatsSession::open(const NatsAddress& address, uint64_t begin, Clock::time_point deadline,
                                      const std::stop_token& stop) {
  // Captured by value, because the work continues after the caller has stopped waiting.
  const auto work = [address, begin]() -> Result<std::shared_ptr<Parts>> {
    auto parts = std::make_unique<Parts>(address);
    FOREBAY_RETURN_IF_ERROR(parts->connect());
    FOREBAY_RETURN_IF_ERROR(parts->subscribe(begin));
    return with_detached_destruction(std::move(parts));
  };
  FOREBAY_ASSIGN(std::shared_ptr<Parts> parts,
                 run_detached<std::shared_ptr<Parts>>(work, deadline, stop, "connecting to NATS"));
  return NatsSession(std::move(parts));
}

Result<NatsRange> NatsSession::ask(const NatsAddress& address, Clock::time_point deadline,
                                   const std::stop_token& stop) {
  const auto work = [address]() -> Result<NatsRange> {
    Parts parts(address);
    FOREBAY_RETURN_IF_ERROR(parts.connect());
    return parts.ask_range();
  };
  return run_detached<NatsRange>(work, deadline, stop, "asking NATS");
}

const NatsRange& NatsSession::range() const { return parts_->range; }

Result<NatsRange> NatsSession::range_now(Clock::time_point deadline, const std::stop_token& stop) const {
  // The work holds the parts, even if the session is destroyed meanwhile.
  const auto work = [parts = parts_]() -> Result<NatsRange> { return parts->ask_range(); };
  return run_detached<NatsRange>(work, deadline, stop, "asking NATS");
}

Status NatsSession::Parts::ask_for(int count) {
  const std::string subject = fmt::format("$JS.API.CONSUMER.MSG.NEXT.{}.{}", address.stream, consumer);
  const std::string text = fmt::format(R"({{"batch":{},"expires":{}}})", count, kExpires.count());
  if (outstanding == 0) last_heard = Clock::now();
  const natsStatus code =
      natsConnection_PublishRequest(connection, subject.c_str(), inbox, text.data(), static_cast<int>(text.size()));
  if (code != NATS_OK) return failed(code, {}, "asking for messages");
  outstanding += count;
  return {};
}

Status NatsSession::Parts::handle(NatsMessage message, std::vector<NatsMessage>& out) {
  last_heard = Clock::now();
  const char* status = nullptr;
  // A user's message may have a header "Status", but a status message of the server has no payload.
  const bool empty = natsMsg_GetDataLength(message.get()) == 0;
  if (!empty || natsMsgHeader_Get(message.get(), "Status", &status) != NATS_OK) {
    --outstanding;
    out.push_back(std::move(message));
    return {};
  }
  // An expired request reports how many messages it did not bring.
  const char *pending = nullptr, *words = nullptr;
  // 408: the request expired; 404: there were no messages. Other statuses mean that the consumer or
  // the server ends.
  const bool expired = std::string_view(status) == "408" || std::string_view(status) == "404";
  natsMsgHeader_Get(message.get(), "Nats-Pending-Messages", &pending);
  natsMsgHeader_Get(message.get(), "Description", &words);
  if (!expired) return unavailable(fmt::format("reading: {} {}", status, words == nullptr ? "" : words));
  const auto missed = number_in(pending == nullptr ? "" : pending);
  outstanding = missed && *missed <= static_cast<uint64_t>(outstanding) ? outstanding - static_cast<int>(*missed) : 0;
  return {};
}

Result<std::vector<NatsMessage>> NatsSession::fetch(int most, std::chrono::milliseconds wait) {
  Parts& parts = *parts_;
  std::vector<NatsMessage> messages;
  // Requests the next messages before the last have come, so that the server is never idle.
  if (parts.outstanding <= most / 2) FOREBAY_RETURN_IF_ERROR(parts.ask_for(most - parts.outstanding));
  int64_t wait_ms = std::max<int64_t>(wait.count(), 1);
  // Waits for the first message and then takes those that are queued, without asking for their
  // number after each.
  for (int queued = 1; queued > 0 && messages.size() < static_cast<size_t>(most); --queued) {
    natsMsg* message = nullptr;
    const natsStatus code = natsSubscription_NextMsg(&message, parts.subscription, wait_ms);
    if (code == NATS_TIMEOUT) break;
    if (code != NATS_OK) return parts.failed(code, {}, "reading");
    FOREBAY_RETURN_IF_ERROR(parts.handle(NatsMessage(message), messages));
    if (queued > 1) continue;
    int bytes = 0;
    if (natsSubscription_GetPending(parts.subscription, &queued, &bytes) != NATS_OK) break;
    ++queued;
  }
  if (messages.empty() && parts.outstanding > 0 && Clock::now() > parts.last_heard + kExpires + kGrace)
    return unavailable("the server does not answer");
  return messages;
}

}  // namespace forebay
