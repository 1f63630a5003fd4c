#pragma once

#include <memory>

#include "cluster/transport.h"
#include "forebay/result.h"

namespace forebay {

/// What hosts of the job reach each other by, as FOREBAY_CLUSTER_TRANSPORT names it: "http" (so where it is not set), with the job's TLS if there is some, or
/// "ucx". InvalidArgument for another name, for what job_tls_from_environment() refuses, and for "ucx" with TLS; Unsupported where there is no UCX.
Result<std::shared_ptr<Transport>> job_transport_from_environment();

}  // namespace forebay
