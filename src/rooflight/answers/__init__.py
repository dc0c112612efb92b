"""What follows from a scenario: claims and measurements judged, deployments compared, changes tried."""
