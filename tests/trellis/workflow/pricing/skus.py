"""SKUs of the Cloud Billing Catalog, as people have published them.

Names and prices of A3 in Iowa: bills of August 2025 that compare on-demand machines with others,
SKUs 3F95-001E-B747, 2E83-99F1-391A, B045-9255-8314, AE9C-DB60-DF46, A002-4323-D900 and
2424-9F04-82A8. N1's: the example of Google's own reference of `skus.list`, and, for Vertex AI, the
prices of n1-standard-4 at https://cloud.google.com/vertex-ai/pricing on 2026-10-07.

RECORDED has all fields of an answer: those of
https://docs.cloud.google.com/billing/v1/how-tos/catalog-api, and of one that was recorded in 2021
(02EE-77CE-ACCD, github.com/Cyclenerd/google-cloud-pricing-cost-calculator, build/notes/api).
"""

from typing import Any

REGIONS = ("us-central1", "us-east1", "us-west1")


def sku(
    description: str,
    usd: float,
    unit: str = "h",
    regions: tuple[str, ...] = REGIONS,
    usage: str = "OnDemand",
    service: str = "Compute Engine",
) -> dict[str, Any]:
    """A SKU in the API's form."""
    price = {"currencyCode": "USD", "units": str(int(usd)), "nanos": round(usd % 1 * 1e9)}
    rate = {"startUsageAmount": 0, "unitPrice": price}
    return {
        "description": description,
        "category": {
            "serviceDisplayName": service,
            "resourceFamily": "Compute",
            "usageType": usage,
        },
        "serviceRegions": list(regions),
        "pricingInfo": [{"pricingExpression": {"usageUnit": unit, "tieredRates": [rate]}}],
    }


def whole(identifier: str, group: str, description: str, unit: str, nanos: list[int]) -> Any:
    """A SKU with every field that the catalog answers; nanos: the price of each tier."""
    family = "Network" if group == "VPNInternetEgress" else "Compute"
    rates = [
        {
            "startUsageAmount": 1024 * number,
            "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": price},
        }
        for number, price in enumerate(nanos)
    ]
    return {
        "name": f"services/6F81-5844-456A/skus/{identifier}",
        "skuId": identifier,
        "description": description,
        "category": {
            "serviceDisplayName": "Compute Engine",
            "resourceFamily": family,
            "resourceGroup": group,
            "usageType": "OnDemand",
        },
        "serviceRegions": list(REGIONS),
        "pricingInfo": [
            {
                "summary": "",
                "pricingExpression": {
                    "usageUnit": unit,
                    "usageUnitDescription": "gibibyte" if unit == "GiBy" else "hour",
                    "baseUnit": "By" if unit == "GiBy" else "s",
                    "baseUnitDescription": "byte" if unit == "GiBy" else "second",
                    "baseUnitConversionFactor": 1073741824 if unit == "GiBy" else 3600,
                    "displayQuantity": 1,
                    "tieredRates": rates,
                },
                "currencyConversionRate": 1,
                "effectiveTime": "2021-11-26T10:50:40.206Z",
            }
        ],
        "serviceProviderName": "Google",
        "geoTaxonomy": {"type": "MULTI_REGIONAL", "regions": list(REGIONS)},
    }


EGRESS = "Network Vpn Internet Egress from Americas to Africa"
CORE = "N1 Predefined Instance Core running in Americas"
RECORDED = [
    whole("02EE-77CE-ACCD", "VPNInternetEgress", EGRESS, "GiBy", [120000000, 110000000, 80000000]),
    whole("2E27-4F75-95CD", "N1Standard", CORE, "h", [31611000]),
]
IOWA = ("us-central1",)
TRAINING, SERVING = "Vertex AI: Training/Pipelines", "Vertex AI: Online/Batch Prediction"

COMPUTE = [
    sku("N1 Predefined Instance Core running in Americas", 0.031611),
    sku("N1 Predefined Instance Ram running in Americas", 0.004237, "GiBy.h"),
    sku(
        "Spot Preemptible N1 Predefined Instance Core running in Americas",
        0.006543,
        usage="Preemptible",
    ),
    sku("Custom Instance Core running in Americas", 0.033174),
    sku("N1 Predefined Instance Core running in Netherlands", 0.034773, regions=("europe-west4",)),
    sku("N1 Predefined Instance Ram running in Netherlands", 0.004661, "GiBy.h", ("europe-west4",)),
    sku(
        "Spot Preemptible N1 Predefined Instance Ram running in Americas",
        0.000877,
        "GiBy.h",
        usage="Preemptible",
    ),
    sku("Nvidia Tesla T4 GPU running in Americas", 0.35),
    sku(
        "Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Americas",
        0.119,
        usage="Preemptible",
    ),
]
VERTEX = [
    sku(f"{TRAINING} on N1 Predefined Instance Core running in Americas", 0.03635265),
    sku(f"{TRAINING} on N1 Predefined Instance Ram running in Americas", 0.00487255, "GiBy.h"),
    sku(f"{TRAINING} Management fee on N1 Instance Core in Americas", 0.00474165),
    sku(f"{TRAINING} on NVIDIA H100 80GB in Iowa", 11.2660332, regions=IOWA),
    sku(f"{TRAINING} on A3 Instance Core in Iowa", 0.0293227, regions=IOWA),
    sku(f"{TRAINING} on A3 Instance RAM in Iowa", 0.0025534, "GiBy.h", IOWA),
    sku(f"{TRAINING} management fee on NVIDIA H100 80GB in Iowa", 1.4694826, regions=IOWA),
    sku(f"{SERVING} Nvidia H100 80gb GPU running in Iowa", 11.2660332, regions=IOWA),
    sku(f"{SERVING} A3 Predefined Instance Core running in Iowa", 0.0293227, regions=IOWA),
    sku(f"{SERVING} A3 Predefined Instance Ram running in Iowa", 0.0025534, "GiBy.h", IOWA),
    sku(f"{SERVING} management fee on A3 Instance Core in Iowa", 0.0038247, regions=IOWA),
]
