#include <utility>  // Boost 1.74 uses std::exchange without it

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "cluster/http/http_server.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>
#include <type_traits>

#include <fmt/format.h>

#include "cluster/address.h"
#include "telemetry/log.h"

// The only file that includes Boost, whose headers take long to compile.

namespace forebay {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;
using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

constexpr uint64_t kPatientBytes = 1 << 20;  // of a response, for each `patience`
constexpr size_t kMaxAtOnce = 4 << 20;       // bytes in one write to a socket
constexpr uint32_t kMostHeaderBytes = 8 << 10;
constexpr uint8_t kTlsHandshake = 22;  // first byte of a TLS connection (RFC 8446, section 5.1)

/// State that the connections of a server share.
struct Served {
  std::string address;
  Services services;
  HttpServerOptions options;
  std::string authorization, generation;
  std::atomic<uint64_t> calls{0}, bytes{0}, refused{0};
  std::atomic<int> connections{0};
  std::optional<asio::ssl::context> tls;

  // The kinds of NoTls follow kNoTls.
  enum Kind { kStranger, kOldGeneration, kMalformed, kTooMany, kSpeaksTls, kNoTls };
  void refuse(int kind, std::string_view what) {
    refused.fetch_add(1, std::memory_order_relaxed);
    if (logged[static_cast<size_t>(kind)].exchange(true)) return;
    log_warning(fmt::format("the peers' server at {} refused {}; more of that kind are only counted", address, what));
  }

 private:
  std::array<std::atomic<bool>, static_cast<size_t>(kNoTls) + NoTls::kKinds> logged{};
};

/// One connection, which serves one request after another. Keeps itself alive while an operation is
/// pending.
template <typename Stream>
class Session : public std::enable_shared_from_this<Session<Stream>> {
 public:
  /// `stream`: the arguments of the stream's constructor.
  template <typename... StreamArgs>
  explicit Session(std::shared_ptr<Served> served, StreamArgs&&... stream)
      : stream_(std::forward<StreamArgs>(stream)...), served_(std::move(served)) {
    served_->connections.fetch_add(1);
  }
  ~Session() { served_->connections.fetch_sub(1); }

  void begin() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      shake_hands();
    } else {
      look_for_tls();
    }
  }

 private:
  using Request = http::request_parser<http::vector_body<uint8_t>>;

  PlainStream& connection() { return beast::get_lowest_layer(stream_); }

  // A TLS client would wait for an answer to its first bytes, and the parser for the end of a line.
  void look_for_tls() {
    connection().expires_after(served_->options.idle);
    connection().async_read_some(
        buffer_.prepare(kMostHeaderBytes), [self = this->shared_from_this()](beast::error_code error, size_t bytes) {
          if (error) return;
          self->buffer_.commit(bytes);
          const auto got = self->buffer_.data();
          if (bytes == 0 || *static_cast<const uint8_t*>(got.data()) != kTlsHandshake) return self->read_head();
          self->refuse(Served::kSpeaksTls, "a host that asks over TLS, which this one was given no certificate for",
                       "400 Bad Request");
        });
  }

  void shake_hands() {
    beast::error_code ignored;
    // Looked up now, because it is unknown once the peer has left.
    host_ = connection().socket().remote_endpoint(ignored).address().to_string();
    connection().expires_after(served_->options.patience);
    stream_.async_handshake(asio::ssl::stream_base::server, [self = this->shared_from_this()](beast::error_code error) {
      if (error) return self->on_no_tls(error);
      self->read_head();
    });
  }

  void on_no_tls(beast::error_code error) {
    // A peer that left or sent nothing did nothing wrong.
    if (error.category() != asio::error::get_ssl_category()) return;
    const NoTls why = why_no_tls(stream_.native_handle(), static_cast<unsigned>(error.value()));
    served_->refuse(Served::kNoTls + static_cast<int>(why.kind), fmt::format("host {}{}", host_, why.words));
    if (why.kind != NoTls::kPlain) return say_no_more();
    head_ =
        "HTTP/1.1 426 Upgrade Required\r\nUpgrade: TLS/1.3, HTTP/1.1\r\nContent-Length: 0\r\n"
        "Connection: Upgrade, close\r\n\r\n";
    asio::async_write(connection(), asio::buffer(head_),
                      [self = this->shared_from_this()](beast::error_code, size_t) { self->say_no_more(); });
  }

  // A connection that is closed with unread bytes is reset, and the last bytes written (an alert, a
  // refusal) may be lost. This reads until the other side closes, or until the connection's
  // deadline.
  void say_no_more() {
    beast::error_code ignored;
    connection().socket().shutdown(Tcp::socket::shutdown_send, ignored);
    drain();
  }
  void drain() {
    connection().async_read_some(buffer_.prepare(kMostHeaderBytes),
                                 [self = this->shared_from_this()](beast::error_code error, size_t) {
                                   if (!error) self->drain();
                                 });
  }

  void read_head() {
    parser_.emplace();
    parser_->header_limit(kMostHeaderBytes);
    parser_->body_limit(kMaxRequestBytes);
    connection().expires_after(served_->options.idle);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](beast::error_code error, size_t) { self->on_head(error); });
  }

  void on_head(beast::error_code error) {
    if (error == http::error::body_limit) return refuse_length();
    if (error) {
      // A peer that left or sent nothing did nothing wrong.
      if (error.category() == http::make_error_code(http::error::end_of_stream).category() &&
          error != http::error::end_of_stream && error != http::error::partial_message)
        refuse(Served::kMalformed, "something that is not HTTP", "400 Bad Request");
      return;
    }
    const auto& head = parser_->get();
    const auto text = [&](auto name) { return std::string_view(head[name].data(), head[name].size()); };
    if (!same_secret(text(http::field::authorization), served_->authorization))
      return refuse(Served::kStranger, "somebody without the token of the job", "401 Unauthorized");
    // Checked after the token, so that an outsider does not learn the generation.
    if (text(kGenerationHeader) != served_->generation)
      return refuse(Served::kOldGeneration, "a host of another generation of the job", "409 Conflict");
    service_ = head.method() == http::verb::post ? find_service({head.target().data(), head.target().size()}) : nullptr;
    if (service_ == nullptr) return refuse(Served::kMalformed, "a call of no service", "404 Not Found");
    connection().expires_after(served_->options.patience);
    http::async_read(stream_, buffer_, *parser_,
                     [self = this->shared_from_this()](beast::error_code failed, size_t) { self->on_request(failed); });
  }

  Service* find_service(std::string_view path) const {
    if (!path.starts_with(kServicePath)) return nullptr;
    path.remove_prefix(kServicePath.size());
    const auto found = served_->services.find(path);
    return found == served_->services.end() ? nullptr : found->second.get();
  }

  void on_request(beast::error_code error) {
    if (error == http::error::body_limit) return refuse_length();
    if (error) return;
    // The service runs on this thread and may wait for a disk: slow services delay other
    // connections once they occupy all threads.
    Result<Response> response = service_->answer(parser_->get().body());
    if (!response.ok()) return refuse(Served::kMalformed, "a malformed request", "400 Bad Request");
    response_ = *std::move(response);
    write_response();
  }

  // All pieces go in one gathered write, so that only the kernel copies them.
  void write_response() {
    const uint64_t bytes = response_bytes(response_);
    served_->calls.fetch_add(1, std::memory_order_relaxed);
    served_->bytes.fetch_add(bytes, std::memory_order_relaxed);
    head_ =
        fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n", bytes);
    pieces_.clear();
    pieces_.emplace_back(head_.data(), head_.size());
    for (const Buffer& piece : response_) pieces_.emplace_back(piece.data(), piece.size());
    // The caller decides whether a response is too slow; a single large entry may need longer.
    connection().expires_after(served_->options.patience * (1 + bytes / kPatientBytes));
    // Writes as much as the socket takes each time. Asio's default condition would pass through its
    // queues every 64 KiB.
    const auto all = [](const beast::error_code& error, size_t) { return error ? 0 : kMaxAtOnce; };
    asio::async_write(stream_, pieces_, all, [self = this->shared_from_this()](beast::error_code error, size_t) {
      self->response_.clear();
      if (!error && self->parser_->get().keep_alive()) self->read_head();
    });
  }

  void refuse_length() { refuse(Served::kMalformed, "a request that is too long", "413 Payload Too Large"); }

  // Sends a short answer without a body, then ends the connection. Parts of the request may still
  // be in flight or unread.
  void refuse(Served::Kind kind, const char* what, const char* status) {
    served_->refuse(kind, what);
    head_ = fmt::format("HTTP/1.1 {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
    connection().expires_after(served_->options.patience);
    asio::async_write(stream_, asio::buffer(head_),
                      [self = this->shared_from_this()](beast::error_code, size_t) { self->say_no_more(); });
  }

  Stream stream_;
  const std::shared_ptr<Served> served_;
  beast::flat_buffer buffer_;
  std::optional<Request> parser_;
  std::string head_, host_;
  Service* service_ = nullptr;  ///< the service of the current request; one of served_->services
  Response response_;
  std::vector<asio::const_buffer> pieces_;
};

class HttpServer final : public Listening {
 public:
  HttpServer(const JobPass& pass, Services services, HttpServerOptions options)
      : context_(options.threads), acceptor_(asio::make_strand(context_)) {
    served_->authorization = "Bearer " + pass.token;
    served_->generation = std::to_string(pass.generation);
    served_->services = std::move(services);
    if (options.tls) {
      ssl_ctx_st* const tls = options.tls->server_tls.get();
      SSL_CTX_up_ref(tls);  // Asio releases one reference
      served_->tls.emplace(tls);
    }
    served_->options = std::move(options);
  }

  ~HttpServer() override {
    // Handlers that have not begun are dropped with the context, and their sessions with them. No
    // service is called any more.
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  Status open(const HostPort& at) {
    beast::error_code error;
    Tcp::resolver resolver(context_);
    const auto found = resolver.resolve(at.host, std::to_string(at.port), error);
    if (error) return not_here(at, error);
    const Tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor_.open(endpoint.protocol(), error);
    if (error) return unavailable(fmt::format("cannot listen at {}: {}", at.to_string(), error.message()));
    acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
    acceptor_.bind(endpoint, error);
    if (error == asio::error::address_in_use)
      return unavailable(fmt::format("cannot listen at {}: the port is taken; give another", at.to_string()));
    if (error) return not_here(at, error);
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return unavailable(fmt::format("cannot listen at {}: {}", at.to_string(), error.message()));
    served_->address = HostPort{at.host, acceptor_.local_endpoint().port()}.to_string();
    accept();
    return start();
  }

  const std::string& address() const override { return served_->address; }
  Stats stats() const override {
    const auto get = [](const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
    return {get(served_->calls), get(served_->bytes), get(served_->refused)};
  }

 private:
  static Status not_here(const HostPort& at, const beast::error_code& error) {
    return invalid_argument(
        fmt::format("cannot listen at {}: {}; give an address of this host", at.to_string(), error.message()));
  }

  Status start() {
    try {
      for (int i = 0; i < served_->options.threads; ++i) threads_.emplace_back([this] { context_.run(); });
    } catch (const std::system_error& error) {
      return unavailable(fmt::format("cannot start a thread that serves peers: {}", error.what()));
    }
    return {};
  }

  void accept() {
    acceptor_.async_accept(asio::make_strand(context_), [this](beast::error_code error, Tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) begin(std::move(socket));
      // The process is probably out of descriptors: accepting again at once would spin.
      if (error) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      accept();
    });
  }

  void begin(Tcp::socket socket) {
    if (served_->connections.load() >= served_->options.most_connections)
      return served_->refuse(Served::kTooMany, "a connection beyond their limit");
    beast::error_code ignored;
    socket.set_option(Tcp::no_delay(true), ignored);
    if (served_->tls) {
      std::make_shared<Session<TlsStream>>(served_, std::move(socket), *served_->tls)->begin();
    } else {
      std::make_shared<Session<PlainStream>>(served_, std::move(socket))->begin();
    }
  }

  const std::shared_ptr<Served> served_ = std::make_shared<Served>();
  asio::io_context context_;
  Tcp::acceptor acceptor_;
  std::vector<std::thread> threads_;
};

}  // namespace

Result<std::unique_ptr<Listening>> http_server(const std::string& address, const JobPass& pass, Services services,
                                               HttpServerOptions options) {
  FOREBAY_RETURN_IF_ERROR(check_token(pass.token));
  FOREBAY_ASSIGN(const HostPort at, parse_host_port(address));
  if (is_any_address(at.host) && !options.any_interface)
    return invalid_argument(fmt::format(
        "'{}' would serve on all interfaces of this host; give the address that the other hosts reach it by", address));
  auto server = std::make_unique<HttpServer>(pass, std::move(services), std::move(options));
  FOREBAY_RETURN_IF_ERROR(server->open(at));
  return std::unique_ptr<Listening>(std::move(server));
}

}  // namespace forebay
